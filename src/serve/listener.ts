/** What both APIs are served by: who may ask, one request at a time on a connection, few enough connections, and problems as answers. */
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
import { RequestProblem } from './requests.ts';

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  /** What clients must show; null: only clients of this machine are answered, and need none. */
  readonly token: string | null;
  readonly connections?: number;
  readonly arrivalMs?: number;
  readonly warn?: (message: string) => void;
}

export interface Api {
  route(request: IncomingMessage, response: ServerResponse): Promise<void>;
  problemBody(problem: HttpProblem): string;
  /** What a client is told of an error of ours. */
  readonly failed: HttpProblem;
  /** The header that may carry the token as it is, beside `authorization: Bearer TOKEN`. */
  readonly keyHeader?: string;
}

/** Whether a client may ask. Without a token only this machine may, by a name of its own: no page may borrow the address. */
function expectAllowed({ headers }: IncomingMessage, token: string | null, keyHeader: string | undefined): void {
  if (token === null) {
    if (isLoopback(hostName(headers.host ?? '')) && headers.origin === undefined) return;
    throw new RequestProblem(403, 'this server answers programs of its own machine only.');
  }
  const bare = keyHeader === undefined ? undefined : headers[keyHeader];
  const shown = /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1] ?? (typeof bare === 'string' ? bare : '');
  if (isSameToken(shown, token)) return;
  const message = 'expected the header authorization: Bearer TOKEN with the token of this server.';
  throw new RequestProblem(401, message, null, 'invalid_api_key');
}

export class LimitedServer {
  readonly #options: ListenerOptions;
  readonly #api: Api;
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #busy = new WeakSet<Socket>();

  constructor(options: ListenerOptions, api: Api) {
    this.#options = options;
    this.#api = api;
    const { arrivalMs = 30_000, connections = 512 } = options;
    const times = {
      requestTimeout: arrivalMs,
      headersTimeout: Math.min(arrivalMs, 10_000),
      // Longer than clients keep an idle connection: one that is closed as they use it again would lose a request.
      keepAliveTimeout: 30_000,
      connectionsCheckingInterval: Math.min(1_000, arrivalMs),
    };
    this.#server = createServer({ ...times, maxHeaderSize: 16_384 }, (request, response) =>
      this.#answer(request, response),
    );
    this.#connections = new Connections(connections);
    this.#server.on('connection', (socket) => this.#connections.open(socket));
  }

  listen(): Promise<string> {
    return listenOn(this.#server, this.#options.host, this.#options.port, 'serve');
  }

  /** Keeps the connection of a request, which has arrived, until what is returned is disposed of. */
  keep({ socket }: IncomingMessage): Disposable {
    return this.#connections.keep(socket);
  }

  /** Takes no more connections, has `endWork` end what is being done, and closes. */
  async close(endWork: () => Promise<void>): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    await endWork();
    this.#server.closeIdleConnections();
    setTimeout(() => this.#server.closeAllConnections(), 200).unref();
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
      expectAllowed(request, this.#options.token, this.#api.keyHeader);
      await this.#api.route(request, response);
    } catch (error) {
      const problem = error instanceof HttpProblem ? error : this.#api.failed;
      if (problem !== error && !socket.destroyed)
        this.#options.warn?.(error instanceof Error ? `${error.stack}` : `${error}`);
      if (response.headersSent) response.destroy();
      else sendAnswer(response, { status: problem.status, body: this.#api.problemBody(problem) });
    }
    this.#busy.delete(socket);
  }
}
