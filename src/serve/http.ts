/** Bodies in and answers out, with limits: a body that is too long or no JSON is refused, a client that does not read is let go. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sha256 } from '../base/node/index.ts';
import { RequestProblem } from './problem.ts';

/** Reads a JSON body of at most `limit` bytes. */
export async function readJsonBody(request: IncomingMessage, limit: number): Promise<unknown> {
  const tooLarge = () => new RequestProblem(413, `a body may have ${limit} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const type = request.headers['content-type'] ?? '';
  // A page of the web can post other types to this machine without asking first.
  if (!/^application\/json\b/i.test(type)) throw new RequestProblem(415, 'expected content-type: application/json.');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new RequestProblem(400, 'the body is no JSON in UTF-8.');
  }
}

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** Whether a client may ask. Without a token only this machine may, by a name of its own: no page may borrow the address. */
export function expectAllowed(request: IncomingMessage, token: string | null): void {
  if (token === null) {
    if (loopbackHost.test(request.headers.host ?? '') && request.headers.origin === undefined) return;
    throw new RequestProblem(403, 'this server answers programs of its own machine only.');
  }
  const given = /^Bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(sha256(token)))) return;
  throw new RequestProblem(
    401,
    'expected the header authorization: Bearer TOKEN with the token of this server.',
    null,
    'invalid_api_key',
  );
}

/** Most bytes that wait for a client, and most time that it may take to read the end of its answer. */
const mostUnread = 2 ** 20;
const readingMs = 30_000;

export function sendJson(response: ServerResponse, status: number, body: string): void {
  if (response.headersSent || response.destroyed) return;
  const headers: Record<string, string> = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (status === 429 || status === 503) headers['retry-after'] = '1';
  // The rest of a body that was refused is not read.
  if (status === 413 || status === 408) headers['connection'] = 'close';
  response.writeHead(status, headers);
  endWithin(response, body);
}

function endWithin(response: ServerResponse, body: string): void {
  const timer = setTimeout(() => response.destroy(), readingMs);
  timer.unref();
  response.once('close', () => clearTimeout(timer));
  response.end(body);
}

/** Server-sent events. */
export class EventWriter {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  send(data: object | string): void {
    if (this.#response.destroyed) return;
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    }
    this.#response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    if (this.#response.writableLength > mostUnread) this.#response.destroy();
  }

  end(): void {
    if (!this.#response.destroyed) endWithin(this.#response, 'data: [DONE]\n\n');
  }
}
