/**
 * What the lab's servers share: where they listen, who may ask, bodies in and answers out, events, all with limits. A body that is too long or no JSON
 * is refused, a client that does not read is let go, and nobody locks others out by holding connections open.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { UserError } from '../errors.ts';
import { systemComplaint } from './system-error.ts';

/** A request that is not answered, and why. */
export class HttpProblem extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Listens on an address, any free port for 0, and resolves to the origin that programs ask. */
export async function listenOn(server: Server, host: string, port: number, call: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const found = cause.code === 'EADDRINUSE' ? 'it in use' : (systemComplaint(cause)?.found ?? cause.message);
      const fix = 'Name another with --port, or 0.';
      reject(
        new UserError({ call: `${call} on ${host}, port ${port}`, expected: 'a free address', found, fix }, { cause }),
      );
    });
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Whose bounds count for a connection: an address, of IPv6 its network of 64 bits, since one client usually has all addresses of that. */
export function clientOf({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string {
  const address = remoteAddress.replace(/^::ffff:(?=\d+\.)/i, '');
  if (isIP(address) !== 6) return address;
  const [before, after = []] = address.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = new Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}

/** The name of the machine in a Host header, without the port. */
export function hostName(header: string): string {
  return header
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
}

/** Compares in a time that does not tell how much is right. */
export function isSameToken(given: string, token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/** Reads a body of at most `limit` bytes. A page of the web can post other types than these to this machine without asking first. */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  types: readonly string[] = ['application/json'],
): Promise<{ readonly type: string; readonly bytes: Buffer }> {
  const tooLarge = () => new HttpProblem(413, `a body may have at most ${limit} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0].trim().toLowerCase();
  if (!types.includes(type)) throw new HttpProblem(415, `expected content-type: ${types.join(' or ')}.`);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  return { type, bytes: Buffer.concat(chunks) };
}

export function jsonOfBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new HttpProblem(400, 'the body is no JSON in UTF-8.');
  }
}

export const readJsonBody = async (request: IncomingMessage, limit: number): Promise<unknown> =>
  jsonOfBody((await readBody(request, limit)).bytes);

export interface HttpAnswer {
  readonly status: number;
  readonly body: string | Buffer;
  /** `application/json` when absent. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Most time that a client may take to read the end of its answer. */
const readingMs = 30_000;

/** Node sends the headers alone to whoever asked by HEAD. */
export function sendAnswer(
  response: ServerResponse,
  { status, body, type = 'application/json', headers }: HttpAnswer,
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(status === 429 || status === 503 ? { 'retry-after': '1' } : {}),
    // The rest of a body that was refused is not read.
    ...(status === 413 || status === 408 ? { connection: 'close' } : {}),
    ...headers,
  });
  endWithin(response, body);
}

function endWithin(stream: Writable, body: string | Buffer): void {
  const timer = setTimeout(() => stream.destroy(), readingMs);
  timer.unref();
  stream.once('close', () => clearTimeout(timer));
  stream.end(body);
}

/** Server-sent events. A client that leaves more than `mostUnread` bytes unread is let go. */
export class EventWriter {
  readonly #stream: Writable;
  readonly #mostUnread: number;

  constructor(stream: Writable, mostUnread = 2 ** 20) {
    this.#stream = stream;
    this.#mostUnread = mostUnread;
  }

  send(data: object | string): void {
    this.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  }

  /** Writes lines of the protocol that are no data. */
  write(text: string): void {
    if (this.#stream.destroyed) return;
    // A request that fails before its first event has an answer of its own.
    if (this.#stream instanceof ServerResponse && !this.#stream.headersSent) {
      this.#stream.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    }
    this.#stream.write(text);
    if (this.#stream.writableLength > this.#mostUnread) this.#stream.destroy();
  }

  end(last = ''): void {
    if (!this.#stream.destroyed) endWithin(this.#stream, last);
  }
}

/**
 * Which connections are kept when there are too many. One whose request has arrived is never closed for a new one; of the others, which say
 * nothing or never end what they say, the oldest goes: whoever can connect needs no token to hold connections open.
 */
export class Connections {
  readonly #most: number;
  /** Those that wait for a request or its end, the oldest first. */
  readonly #waiting = new Set<Socket>();
  #answered = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a connection in, at the cost of another, or of its own where every request of the others has arrived. */
  open(socket: Socket): void {
    this.#waiting.add(socket);
    socket.once('close', () => this.#waiting.delete(socket));
    if (this.#waiting.size + this.#answered <= this.#most) return;
    const [oldest] = this.#waiting;
    this.#waiting.delete(oldest);
    oldest.destroy();
  }

  /** Keeps a connection, whose request has arrived, until what is returned is disposed of. */
  keep(socket: Socket): Disposable {
    this.#waiting.delete(socket);
    this.#answered++;
    return {
      [Symbol.dispose]: () => {
        this.#answered--;
        if (!socket.destroyed) this.#waiting.add(socket);
      },
    };
  }
}
