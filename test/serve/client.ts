/** A server of a small policy for the tests of a file, and the requests that they make of it. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { PolicyServer, type ServedPolicy, type ServerOptions } from '../../src/serve/index.ts';
import { type MadePolicy, makeServed } from './served.ts';

export interface Answer {
  readonly choices: readonly {
    readonly index: number;
    readonly text: string;
    readonly message: { readonly content: string };
    readonly finish_reason: string;
    readonly token_ids: readonly number[];
    readonly logprobs: {
      readonly tokens: readonly string[];
      readonly text_offset: readonly number[];
      readonly token_logprobs: readonly number[];
      readonly top_logprobs: readonly Record<string, number>[];
      readonly content: readonly { readonly logprob: number; readonly top_logprobs: readonly unknown[] }[];
    };
  }[];
  readonly usage: { readonly completion_tokens: number; readonly prompt_tokens: number };
  readonly error: { readonly message: string; readonly param: string | null; readonly code: string | null };
}

/** Long enough that a completion that fills it takes seconds. */
const context = 3000;

export const prompt = [5, 6, 7, 8];
export const plain = { prompt, max_tokens: 8, seed: 3, return_token_ids: true };

export class Client {
  readonly warnings: string[] = [];
  #made: MadePolicy | null = null;
  #server: PolicyServer | null = null;

  constructor() {
    beforeAll(async () => {
      this.#made = await makeServed(await createWasmDevice({ threads: 1 }), 'nano', 6, context);
    });
    afterAll(() => this.made[Symbol.asyncDispose]());
    afterEach(() => this.server[Symbol.asyncDispose]());
  }

  get made(): MadePolicy {
    if (this.#made === null) throw new Error('no policy before the first test');
    return this.#made;
  }

  get server(): PolicyServer {
    if (this.#server === null) throw new Error('no server is started');
    return this.#server;
  }

  /** Starts a server, with another policy in some respect where a test asks for that. */
  async start(options: Partial<ServerOptions> = {}, changes: Partial<ServedPolicy> = {}): Promise<void> {
    this.warnings.length = 0;
    const warn = (message: string) => void this.warnings.push(message);
    const base = { host: '127.0.0.1', port: 0, token: null, warn };
    this.#server = await PolicyServer.start({ ...this.made.served, ...changes }, { ...base, ...options });
  }

  post(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.server.url}${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
      headers: { 'content-type': 'application/json', ...init.headers },
    });
  }

  async ask(path: string, body: unknown): Promise<Answer> {
    return (await (await this.post(path, body)).json()) as Answer;
  }

  /** The events of a stream, without the last, which must be [DONE]. */
  async events(body: unknown, path = '/completions'): Promise<Record<string, never>[]> {
    const text = await (await this.post(path, body)).text();
    const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, line]) => line);
    expect(data.at(-1)).toBe('[DONE]');
    return data.slice(0, -1).map((line) => JSON.parse(line) as Record<string, never>);
  }
}
