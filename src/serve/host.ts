/** What all servers share: where they listen, who may ask, how many connections there are, and what a failure says. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  Connections,
  HttpProblem,
  hostName,
  isLoopback,
  isSameToken,
  listenOn,
  sendAnswer,
} from '../base/node/index.ts';

export interface HostOptions {
  readonly host: string;
  readonly port: number;
  /** What clients must show; null: only clients of this machine are answered, and need none. */
  readonly token: string | null;
  readonly bodyBytes?: number;
  readonly connections?: number;
  readonly arrivalMs?: number;
  readonly warn?: (message: string) => void;
}

interface HostParts {
  /** The name of the command, for errors. */
  readonly call: string;
  route(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** The body that tells a problem in the words of the protocol. */
  tell(problem: HttpProblem): string;
  /** What is told of a failure that is nobody's request. */
  readonly failed: HttpProblem;
}

export const usualHost = { bodyBytes: 4 * 2 ** 20, connections: 512, arrivalMs: 30_000 } as const;

export class Host {
  readonly server: Server;
  readonly connections: Connections;
  readonly #options: Required<HostOptions>;
  readonly #parts: HostParts;
  readonly #busy = new WeakSet<Socket>();
  url = '';

  constructor(options: HostOptions, parts: HostParts) {
    this.#options = { ...usualHost, warn: () => undefined, ...options };
    this.#parts = parts;
    const { arrivalMs, connections } = this.#options;
    const times = {
      requestTimeout: arrivalMs,
      headersTimeout: Math.min(arrivalMs, 10_000),
      // Longer than clients keep an idle connection: one that is closed as they use it again would lose a request.
      keepAliveTimeout: 30_000,
      connectionsCheckingInterval: Math.min(1_000, arrivalMs),
    };
    this.server = createServer({ ...times, maxHeaderSize: 16_384 }, (request, response) =>
      this.#answer(request, response),
    );
    this.connections = new Connections(connections);
    this.server.on('connection', (socket) => this.connections.open(socket));
  }

  async listen(): Promise<void> {
    this.url = await listenOn(this.server, this.#options.host, this.#options.port, this.#parts.call);
  }

  /** Whether a client may ask. Without a token only this machine may, by a name of its own: no page may borrow the address. */
  expectAllowed({ headers }: IncomingMessage): void {
    const { token } = this.#options;
    if (token === null) {
      if (isLoopback(hostName(headers.host ?? '')) && headers.origin === undefined) return;
      throw new HttpProblem(403, 'this server answers programs of its own machine only.');
    }
    const { authorization = '', 'x-api-key': key } = headers;
    const shown = /^Bearer +(.+)$/i.exec(authorization)?.[1] ?? (typeof key === 'string' ? key : '');
    if (isSameToken(shown, token)) return;
    throw new HttpProblem(401, 'expected the header authorization: Bearer TOKEN with the token of this server.');
  }

  /** Takes no more connections, has `endWork` end what is being done, and closes. */
  async close(endWork: () => Promise<void> = async () => undefined): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    await endWork();
    this.server.closeIdleConnections();
    setTimeout(() => this.server.closeAllConnections(), 200).unref();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    // A second request before the first is answered would wait unseen, and outlive its connection.
    if (this.#busy.has(socket)) {
      socket.destroy();
      return;
    }
    this.#busy.add(socket);
    // A connection that breaks is no error of ours; what it asked for is cancelled where it is made.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    try {
      this.expectAllowed(request);
      await this.#parts.route(request, response);
    } catch (error) {
      const problem = error instanceof HttpProblem ? error : this.#parts.failed;
      if (problem !== error && !socket.destroyed)
        this.#options.warn(error instanceof Error ? `${error.stack}` : `${error}`);
      if (response.headersSent) response.destroy();
      else sendAnswer(response, { status: problem.status, body: this.#parts.tell(problem) });
    }
    this.#busy.delete(socket);
  }
}
