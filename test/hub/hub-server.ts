/**
 * A small hub on loopback that speaks the protocol of the real one: the list of files with their hashes, files by commit with ranges, and
 * large files by redirection to another host. Faults can be asked for: connections that break, errors, wrong bytes, silence.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HubFaults {
  /** Connections break after this many bytes of a file. */
  /** Is called when a file that is silent is asked to go on. */
  onSilence?: () => void;
  breakAfter?: number;
  /** How many answers to come are errors of the server. */
  errors?: number;
  /** Files that arrive with a changed byte, and how often. */
  changed?: Map<string, number>;
  /** Files that begin and then say nothing. */
  silent?: Set<string>;
  ignoresRange?: boolean;
  token?: string;
}

export interface Seen {
  readonly host: 'hub' | 'store';
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
}

const git = (data: Buffer) => createHash('sha1').update(`blob ${data.length}\0`).update(data).digest('hex');
const sha256 = (data: Buffer) => createHash('sha256').update(data).digest('hex');

export class HubServer implements AsyncDisposable {
  readonly commit = 'c0ffee'.padEnd(40, '1');
  readonly faults: HubFaults = {};
  readonly seen: Seen[] = [];
  /** Ends the connection over which a part of a file was sent; whoever calls it has read something of that. */
  breakConnection: () => void = () => undefined;
  readonly #files: ReadonlyMap<string, Buffer>;
  readonly #repository: string | null;
  readonly #hub: Server;
  readonly #store: Server;

  private constructor(files: ReadonlyMap<string, Buffer>, repository: string | null) {
    this.#repository = repository;
    this.#files = files;
    this.#hub = createServer((request, response) => this.#answer('hub', request, response));
    this.#store = createServer((request, response) => this.#answer('store', request, response));
  }

  /** A hub with one repository; null: every name stands for it. */
  static async start(files: ReadonlyMap<string, Buffer>, repository: string | null = 'org/model'): Promise<HubServer> {
    const made = new HubServer(files, repository);
    for (const server of [made.#hub, made.#store]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    }
    return made;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#hub.address() as AddressInfo).port}`;
  }

  #answer(host: Seen['host'], request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://hub').pathname);
    const { range, authorization } = request.headers;
    this.seen.push({ host, path, range, authorization });
    const { errors = 0, token } = this.faults;
    if (errors > 0) {
      this.faults.errors = errors - 1;
      response.writeHead(503).end();
    } else if (host === 'hub' && token !== undefined && authorization !== `Bearer ${token}`)
      response.writeHead(401).end();
    else if (path.startsWith(`/api/models/${this.#repository ?? path.split('/').slice(3, 5).join('/')}/revision/`))
      this.#list(response);
    else this.#send(host, path, range, response);
  }

  #list(response: ServerResponse): void {
    const siblings = [...this.#files].map(([rfilename, data]) => {
      const plain = { rfilename, size: data.length, blobId: git(data) };
      return isLarge(rfilename) ? { ...plain, lfs: { sha256: sha256(data), size: data.length } } : plain;
    });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ sha: this.commit, siblings }));
  }

  #send(host: Seen['host'], path: string, range: string | undefined, response: ServerResponse): void {
    const name = path.split('/').at(-1) ?? '';
    const repository = this.#repository ?? path.split('/').slice(1, 3).join('/');
    const stored = path === `/${repository}/resolve/${this.commit}/${name}` ? this.#files.get(name) : undefined;
    if (stored === undefined) {
      response.writeHead(404).end();
    } else if (host === 'hub' && isLarge(name)) {
      const { port } = this.#store.address() as AddressInfo;
      response.writeHead(302, { location: `http://localhost:${port}${path}` }).end();
    } else this.#sendBytes(name, stored, range, response);
  }

  #sendBytes(name: string, stored: Buffer, range: string | undefined, response: ServerResponse): void {
    const { breakAfter = Number.POSITIVE_INFINITY, changed, silent, ignoresRange = false } = this.faults;
    const left = changed?.get(name) ?? 0;
    changed?.set(name, left - 1);
    const data = Buffer.from(stored);
    if (left > 0) data[0] ^= 1;
    const start = ignoresRange ? 0 : Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    const part = data.subarray(start);
    const ranged = { 'content-range': `bytes ${start}-${data.length - 1}/${data.length}` };
    response.writeHead(start > 0 ? 206 : 200, { 'content-length': part.length, ...(start > 0 ? ranged : {}) });
    // One byte of the file and no more, however often it is asked to go on.
    if (silent?.has(name)) {
      if (start === 0) response.write(part.subarray(0, 1));
      else {
        response.flushHeaders();
        this.faults.onSilence?.();
      }
    } else if (part.length > breakAfter) {
      response.write(part.subarray(0, breakAfter));
      this.breakConnection = () => void response.destroy();
    } else response.end(part);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#hub, this.#store]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

const isLarge = (name: string): boolean => name.endsWith('.safetensors');
