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

const usual = { bodyBytes: 4 * 2 ** 20, connections: 512, arrivalMs: 30_000, warn: () => undefined } as const;

export abstract class Host implements AsyncDisposable {
  protected readonly server: Server;
  readonly #connections: Connections;
  protected readonly bodyBytes: number;
  readonly #options: Required<HostOptions>;
  readonly #call: string;
  readonly #failed: HttpProblem;
  readonly #busy = new WeakSet<Socket>();
  #isClosing = false;
  #url = '';

  /** `call`: the name of the command, for errors; `failed`: what is told of a failure that is nobody's request. */
  protected constructor(options: HostOptions, call: string, failed: HttpProblem) {
    this.#options = { ...usual, ...options };
    this.#call = call;
    this.#failed = failed;
    const { arrivalMs, connections, bodyBytes } = this.#options;
    this.bodyBytes = bodyBytes;
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
    this.#connections = new Connections(connections);
    this.server.on('connection', (socket) => this.#connections.open(socket));
  }

  protected abstract route(request: IncomingMessage, response: ServerResponse): Promise<void>;

  /** The body that tells a problem in the words of the protocol. */
  protected tell({ message }: HttpProblem): string {
    // It may name all that was sent.
    return JSON.stringify({ detail: message.slice(0, 1000) });
  }

  /** Ends what is being done when the server closes. */
  protected async endWork(): Promise<void> {}

  get url(): string {
    return this.#url;
  }

  protected async listen(): Promise<this> {
    this.#url = await listenOn(this.server, this.#options.host, this.#options.port, this.#call);
    return this;
  }

  protected warn(error: unknown): void {
    this.#options.warn(error instanceof Error ? `${error.stack}` : `${error}`);
  }

  /** Whether a client may ask. Without a token only this machine may, by a name of its own: no page may borrow the address. */
  protected expectAllowed({ headers }: IncomingMessage): void {
    this.#expectOpen();
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

  /** Keeps the connection of a request, all of which has arrived, until what is returned is disposed of. */
  protected keep({ socket }: IncomingMessage): Disposable {
    this.#expectOpen();
    return this.#connections.keep(socket);
  }

  /** A request may be on its way when the server closes, and must begin nothing then. */
  #expectOpen(): void {
    if (this.#isClosing) throw new HttpProblem(503, 'the server ends.');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise((resolve) => this.server.close(resolve));
    await this.endWork();
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
      await this.route(request, response);
    } catch (error) {
      const problem = error instanceof HttpProblem ? error : this.#failed;
      if (problem !== error && !socket.destroyed) this.warn(error);
      if (response.headersSent) response.destroy();
      else sendAnswer(response, { status: problem.status, body: this.tell(problem) });
    }
    this.#busy.delete(socket);
  }
}

export const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0];

export const sendJson = (response: ServerResponse, value: unknown): void =>
  sendAnswer(response, { status: 200, body: JSON.stringify(value) });
