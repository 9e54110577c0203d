/**
 * A client of one server. Requests that were late, refused for load or cut off are made again after a pause, as many times as the
 * settings say; the pauses double, and Retry-After is obeyed. A redirect is an answer like any other and is not followed: the key goes to
 * the named server and nowhere else. The key is read from the environment, is in the header of requests only, and is struck out of
 * everything that the server says before anybody sees it.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import { readKey, readResponse, reasonOf, retryAfter, strikeKey } from './ask.ts';

export interface ClientSettings {
  /** Who asks, in the words of errors. */
  readonly who: string;
  /** The key of the config that names the variable, in the words of errors. */
  readonly keyName: string;
  /** The environment variable that has the key; empty: none is sent. */
  readonly keyVariable: string;
  readonly timeoutSeconds: number;
  readonly retries: number;
}

/** Failures of the way to an answer, which another attempt may cure. */
export type TransportFault = 'late' | 'unreachable' | 'overloaded' | 'failing';

/** `requests`: how many were made for it. */
export type HttpReply =
  | { readonly kind: 'answer'; readonly status: number; readonly body: string; readonly requests: number }
  | {
      readonly kind: 'fault';
      readonly fault: TransportFault | 'too long';
      /** What was found, in a few words for people. */
      readonly detail: string;
      readonly requests: number;
    };

type Attempt =
  | { readonly kind: 'answer'; readonly status: number; readonly body: string }
  | {
      readonly kind: 'fault';
      readonly fault: TransportFault | 'too long';
      readonly detail: string;
      readonly after: number;
    };

export interface Question {
  /** Relative to the server's address. */
  readonly path: string;
  readonly body: object;
  /** Most bytes of an answer; a longer one is not read to its end. */
  readonly mostBytes: number;
}

const longestPause = 300;
const shownCharacters = 200;

export type Pause = (seconds: number, signal: AbortSignal) => Promise<void>;
const sleep: Pause = (seconds, signal) => pauseFor(seconds * 1000, undefined, { signal });

export class HttpClient {
  readonly #settings: ClientSettings;
  readonly #base: string;
  readonly #key: string | null;
  readonly #pause: Pause;

  constructor(address: string, settings: ClientSettings, pause: Pause = sleep) {
    this.#settings = settings;
    this.#base = address.endsWith('/') ? address : `${address}/`;
    const { who: call, keyName, keyVariable } = settings;
    // Only a server on this machine is asked without a key where the variable has none.
    this.#key = readKey(keyVariable, {
      call,
      optional: new URL(this.#base).protocol === 'http:',
      fix: `Set it, name another one in ${keyName}, or set that to "" for a server that needs no key.`,
    });
    this.#pause = pause;
  }

  addressOf(path: string): string {
    const { origin, pathname } = new URL(path, this.#base);
    return `${origin}${pathname}`;
  }

  async post(question: Question, signal: AbortSignal): Promise<HttpReply> {
    for (let attempt = 1; ; attempt++) {
      const found = await this.#attempt(question, signal);
      if (found.kind === 'answer') return { ...found, requests: attempt };
      const { fault, detail, after } = found;
      const again = fault !== 'too long' && attempt <= this.#settings.retries && after <= longestPause;
      if (!again) return { kind: 'fault', fault, detail, requests: attempt };
      await this.#pause(Math.max(after, Math.min(2 ** (attempt - 2), 30)), signal);
    }
  }

  async #attempt({ path, body: asked, mostBytes }: Question, signal: AbortSignal): Promise<Attempt> {
    const { timeoutSeconds } = this.#settings;
    const late = new AbortController();
    const clock = setTimeout(() => late.abort(), timeoutSeconds * 1000);
    const fault = (name: TransportFault | 'too long', detail: string, after = 0): Attempt => ({
      kind: 'fault',
      fault: name,
      detail: this.strike(detail).slice(0, shownCharacters),
      after,
    });
    try {
      const response = await fetch(new URL(path, this.#base), {
        method: 'POST',
        redirect: 'manual',
        signal: AbortSignal.any([signal, late.signal]),
        headers: {
          'content-type': 'application/json',
          ...(this.#key === null ? {} : { authorization: `Bearer ${this.#key}` }),
        },
        body: JSON.stringify(asked),
      });
      const { status } = response;
      const body = await readResponse(response, mostBytes);
      // The status comes first: the page of a server that fails or refuses the key may be as long as it likes.
      if (status === 429) return fault('overloaded', `status 429`, retryAfter(response));
      if (status === 408 || status >= 500) return fault('failing', `status ${status}`, retryAfter(response));
      if (body === null && status === 200) return fault('too long', `more than ${mostBytes} bytes`);
      return { kind: 'answer', status, body: this.strike(body ?? '') };
    } catch (cause) {
      signal.throwIfAborted();
      if (late.signal.aborted) return fault('late', `no answer within ${timeoutSeconds} seconds`);
      return fault('unreachable', reasonOf(cause));
    } finally {
      clearTimeout(clock);
    }
  }

  /** A text without the key. */
  strike(text: string): string {
    return strikeKey(text, this.#key);
  }
}

/** The value that a text of JSON has; null for any other text. */
export function jsonOrNull(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
