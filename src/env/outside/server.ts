/**
 * Asks a server that others run. Every answer has a time limit and a largest size, a redirect is refused, and what was cut off, late or refused
 * for load is tried again as often as the settings say. The key is in the headers of requests to the given address and nowhere else.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import type { z } from 'zod';
import { addressFault, GraderError, UserError } from '../../base/index.ts';
import { readKey, readResponse, reasonOf, retryAfter, strikeKey } from '../../base/node/ask.ts';
import type { OutsideSettings } from './environment.ts';

const shownCharacters = 200;
const longestPause = 300;
export const mostBytes = 2 ** 20;
/** Of a list of tasks, which some servers send whole. */
export const mostListBytes = 2 ** 25;

/** A failure of the way to an answer, which another attempt may cure. */
export class BrokenOff extends Error {
  readonly afterSeconds: number;

  constructor(message: string, afterSeconds = 0) {
    super(message);
    this.afterSeconds = afterSeconds;
  }
}

interface Question {
  readonly method?: 'GET' | 'POST';
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly most?: number;
  /** The least time that is waited, where an answer is not worth the whole limit. */
  readonly seconds?: number;
}

type Pause = (seconds: number, signal: AbortSignal) => Promise<void>;
const sleep: Pause = (seconds, signal) => pauseFor(seconds * 1000, undefined, { signal });

export class OutsideServer {
  readonly address: string;
  readonly timeoutMs: number;
  readonly key: string | null;
  readonly signal: AbortSignal;
  readonly #retries: number;
  readonly #pause: Pause;

  constructor(
    { url, keyVariable, timeoutSeconds, retries }: OutsideSettings,
    signal: AbortSignal,
    pause: Pause = sleep,
  ) {
    const address = new URL(url);
    this.address = `${address.origin}${address.pathname.replace(/\/+$/, '')}`;
    const fix = 'Set it, or name another one in data.keyVariable, or "" for a server that needs no key.';
    this.key = readKey(keyVariable, { call: `environment at ${this.address}`, optional: false, fix });
    if (this.key !== null && addressFault(url) !== null) {
      throw this.wrong('https:// where a key is sent beyond this machine', 'http://');
    }
    this.timeoutMs = timeoutSeconds * 1000;
    this.signal = signal;
    this.#retries = retries;
    this.#pause = pause;
  }

  /** What a server said that nothing can be done with. */
  wrong(expected: string, found: string, fix?: string): UserError {
    const call = `environment at ${this.address}`;
    return new UserError({ call, expected: this.shown(expected), found: this.shown(found), fix });
  }

  /** What is stored of an answer, such as a name or a prompt; one that repeats the key is refused. */
  withoutKey<Value>(what: string, value: Value): Value {
    const text = JSON.stringify(value);
    if (strikeKey(text, this.key) !== text) throw this.wrong(`${what} without the key`, 'one that repeats it');
    return value;
  }

  /** The beginning of what a server said, without the key. */
  shown(text: string): string {
    return strikeKey(text, this.key)
      .slice(0, shownCharacters)
      .replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ');
  }

  /** Does the work again where it was cut off. Its last failure ends the run: it says nothing about an answer. */
  async persist<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        this.signal.throwIfAborted();
        if (!(error instanceof BrokenOff)) throw error;
        if (attempt >= this.#retries || error.afterSeconds > longestPause) throw this.#failed(error, attempt + 1);
        await this.#pause(Math.max(error.afterSeconds, Math.min(2 ** (attempt - 2), 30)), this.signal);
      }
    }
  }

  #failed(cause: BrokenOff, attempts: number): GraderError {
    return new GraderError(
      {
        call: `environment at ${this.address}`,
        expected: 'an answer',
        found: `${this.shown(cause.message)}, ${attempts === 1 ? 'once' : `${attempts} times`}`,
        fix: 'See that the server runs, then go on with --resume; data.timeoutSeconds and data.retries say how long it is waited for.',
      },
      { cause },
    );
  }

  /** The body of an answer of status 200, as JSON of a shape. */
  async json<Schema extends z.ZodType>(path: string, what: string, schema: Schema, question: Question = {}) {
    const text = await this.text(path, { ...question });
    return this.read(text, what, schema);
  }

  /** Text of a server as JSON of a shape. */
  read<Schema extends z.ZodType>(text: string, what: string, schema: Schema): z.output<Schema> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw this.wrong(`${what}, as JSON`, text === '' ? 'nothing' : text);
    }
    let parsed: z.ZodSafeParseResult<z.output<Schema>>;
    try {
      parsed = schema.safeParse(value);
    } catch (error) {
      // The stack is full.
      if (error instanceof RangeError) throw this.wrong(what, 'JSON that is nested too deeply');
      throw error;
    }
    if (parsed.success) return parsed.data;
    const [{ path, message }] = parsed.error.issues;
    throw this.wrong(what, `${path.map(String).join('.') || 'the whole answer'}: ${message}`);
  }

  async text(path: string, question: Question): Promise<string> {
    return this.#request(path, question, async (response) => {
      const { most = mostBytes } = question;
      const body = await readResponse(response, most);
      if (body === null) throw this.wrong(`at most ${most} bytes from ${path}`, 'more');
      return body;
    });
  }

  /** The stream of an answer, in pieces of text; whoever reads it must come to an end of its own. */
  async stream<Answer>(
    path: string,
    question: Question,
    read: (pieces: AsyncIterable<string>) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#request(path, question, async ({ body }) => {
      if (body === null) throw new BrokenOff('an answer without a body');
      return read(decoded(body as unknown as AsyncIterable<Uint8Array>));
    });
  }

  async #request<Answer>(
    path: string,
    { method = 'GET', body, headers = {}, seconds }: Question,
    read: (response: Response) => Promise<Answer>,
  ): Promise<Answer> {
    const late = new AbortController();
    const waitedMs = Math.min(this.timeoutMs, (seconds ?? Number.POSITIVE_INFINITY) * 1000);
    const clock = setTimeout(() => late.abort(), waitedMs);
    try {
      const response = await fetch(`${this.address}${path}`, {
        method,
        redirect: 'manual',
        signal: AbortSignal.any([this.signal, late.signal]),
        headers: {
          'accept-encoding': 'identity',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(this.key === null ? {} : { 'x-api-key': this.key, authorization: `Bearer ${this.key}` }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (response.status === 200) return await read(response);
      throw await this.#refused(response, `${method} ${path}`);
    } catch (cause) {
      this.signal.throwIfAborted();
      if (cause instanceof UserError || cause instanceof BrokenOff) throw cause;
      if (late.signal.aborted) throw new BrokenOff(`no whole answer to ${path} within ${waitedMs / 1000} seconds`);
      throw new BrokenOff(`${reasonOf(cause)} (${path})`);
    } finally {
      clearTimeout(clock);
      // A body that was left half read would hold its connection.
      late.abort();
    }
  }

  async #refused(response: Response, asked: string): Promise<Error> {
    const { status } = response;
    const said = (await readResponse(response, mostBytes)) ?? '';
    const found = `status ${status} to ${asked}${said === '' ? '' : `: ${said}`}`;
    if (status === 408 || status === 429 || status >= 500) return new BrokenOff(found, retryAfter(response));
    if (status >= 300 && status < 400) {
      return this.wrong(
        'an answer (status 200)',
        found,
        'Redirects are not followed: name the address that it moved to.',
      );
    }
    return this.wrong('an answer (status 200)', found, 'Check data.url, and the key where the server wants one.');
  }
}

async function* decoded(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of body) yield decoder.decode(chunk, { stream: true });
}
