/**
 * A chat-completions endpoint in the manner of OpenAI's. Requests that were late, refused for load or cut off are made again after a
 * pause, as many times as the settings say; the pauses double, and Retry-After is obeyed. A redirect is an error: the key goes to the
 * named endpoint and nowhere else. The key is read from the environment, is in the header of requests only, and is struck out of
 * everything that the endpoint says before anybody sees it.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { readBody, readKey, reasonOf, retryAfter, strikeKey } from '../../base/node/ask.ts';

export interface EndpointSettings {
  readonly modelName: string;
  readonly keyVariable: string;
  readonly maxTokens: number;
  readonly timeoutSeconds: number;
  readonly retries: number;
}

/** Failures of the way to an answer, which another attempt may cure. */
export type TransportFault = 'late' | 'unreachable' | 'overloaded' | 'failing';
/** Answers that say nothing. */
export type AnswerFault = 'refused' | 'empty' | 'malformed' | 'too long' | 'unclear';

/** What one question came to: a text, or why there is none. */
export interface EndpointReply {
  readonly text: string | null;
  readonly fault: TransportFault | AnswerFault | null;
  /** What was found, in a few words for people. */
  readonly detail: string;
  readonly requests: number;
  readonly tokens: number;
  /** The name of the model that answered, as the endpoint gives it; null where it gives none. */
  readonly model: string | null;
}

export function isTransportFault(fault: EndpointReply['fault']): fault is TransportFault {
  return fault === 'late' || fault === 'unreachable' || fault === 'overloaded' || fault === 'failing';
}

const mostBytes = 1 << 20;
const longestPause = 300;
const shownCharacters = 200;

const completionShape = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  model: z.string().nullish().catch(null),
  usage: z
    .object({ total_tokens: z.number().int().min(0).max(1e9) })
    .nullish()
    .catch(null),
});

type Attempt =
  | { readonly kind: 'answer'; readonly status: number; readonly body: string }
  | {
      readonly kind: 'fault';
      readonly fault: TransportFault | 'too long';
      readonly detail: string;
      readonly after: number;
    };

export type Pause = (seconds: number, signal: AbortSignal) => Promise<void>;
const sleep: Pause = (seconds, signal) => pauseFor(seconds * 1000, undefined, { signal });

export class ChatEndpoint {
  readonly #settings: EndpointSettings;
  readonly #address: URL;
  readonly #key: string | null;
  readonly #pause: Pause;

  constructor(endpoint: string, settings: EndpointSettings, pause: Pause = sleep) {
    this.#settings = settings;
    this.#address = addressOf(endpoint);
    // Only a server on this machine is asked without a key where the variable has none.
    this.#key = readKey(settings.keyVariable, {
      call: 'judge',
      optional: this.#address.protocol === 'http:',
      fix: 'Set it, name another one in arm.monitor.keyVariable, or set that to "" for a server that needs no key.',
    });
    this.#pause = pause;
  }

  get address(): string {
    return `${this.#address.origin}${this.#address.pathname}`;
  }

  async ask(question: string, signal: AbortSignal): Promise<EndpointReply> {
    for (let attempt = 1; ; attempt++) {
      const found = await this.#attempt(question, signal);
      if (found.kind === 'answer') return { ...this.#read(found), requests: attempt };
      const { fault, detail, after } = found;
      const again = fault !== 'too long' && attempt <= this.#settings.retries && after <= longestPause;
      if (!again) return { text: null, fault, detail, requests: attempt, tokens: 0, model: null };
      await this.#pause(Math.max(after, Math.min(2 ** (attempt - 2), 30)), signal);
    }
  }

  async #attempt(question: string, signal: AbortSignal): Promise<Attempt> {
    const { modelName, maxTokens, timeoutSeconds } = this.#settings;
    const late = new AbortController();
    const clock = setTimeout(() => late.abort(), timeoutSeconds * 1000);
    const fault = (name: TransportFault | 'too long', detail: string, after = 0): Attempt => ({
      kind: 'fault',
      fault: name,
      detail: this.#strike(detail).slice(0, shownCharacters),
      after,
    });
    try {
      const response = await fetch(this.#address, {
        method: 'POST',
        redirect: 'manual',
        signal: AbortSignal.any([signal, late.signal]),
        headers: {
          'content-type': 'application/json',
          ...(this.#key === null ? {} : { authorization: `Bearer ${this.#key}` }),
        },
        body: JSON.stringify({
          model: modelName,
          messages: [{ role: 'user', content: question }],
          temperature: 0,
          max_tokens: maxTokens,
        }),
      });
      const { status } = response;
      const body = await readBody(response, mostBytes);
      // The status comes first: the page of a server that fails or refuses the key may be as long as it likes.
      if (status === 429) return fault('overloaded', `status 429`, retryAfter(response));
      if (status === 408 || status >= 500) return fault('failing', `status ${status}`, retryAfter(response));
      if (body === null && status === 200) return fault('too long', `more than ${mostBytes} bytes`);
      return { kind: 'answer', status, body: this.#strike(body ?? '') };
    } catch (cause) {
      signal.throwIfAborted();
      if (late.signal.aborted) return fault('late', `no answer within ${timeoutSeconds} seconds`);
      return fault('unreachable', reasonOf(cause));
    } finally {
      clearTimeout(clock);
    }
  }

  #read({ status, body }: { readonly status: number; readonly body: string }): Omit<EndpointReply, 'requests'> {
    const said = body.slice(0, shownCharacters);
    const faulty = (fault: AnswerFault, detail: string, tokens = 0, model: string | null = null) => ({
      ...{ text: null, fault, detail, tokens, model },
    });
    if ([400, 413, 422].includes(status)) return faulty('refused', `status ${status}: ${said}`);
    if (status !== 200) throw this.#misdirected(status, said);
    const parsed = completionShape.safeParse(parseOr(body));
    if (!parsed.success) return faulty('malformed', said);
    const [{ message, finish_reason: finish }] = parsed.data.choices;
    const tokens = parsed.data.usage?.total_tokens ?? 0;
    const model = parsed.data.model ? this.#strike(parsed.data.model).slice(0, shownCharacters) : null;
    if (message.refusal || finish === 'content_filter') return faulty('refused', 'a refusal', tokens, model);
    const text = this.#strike(message.content ?? '').trim();
    if (text === '') return faulty('empty', 'no text', tokens, model);
    return { text, fault: null, detail: text.slice(0, shownCharacters), tokens, model };
  }

  /** Any other status says that the settings are wrong, whatever is asked. */
  #misdirected(status: number, said: string): UserError {
    const { keyVariable, modelName } = this.#settings;
    const moved = status >= 300 && status < 400;
    return new UserError({
      call: `judge at ${this.address}`,
      expected: 'a chat completion (status 200)',
      found: `status ${status}${said === '' ? '' : `: ${said}`}`,
      fix: moved
        ? 'Redirects are not followed, since they would take the key elsewhere: name the address that it moved to.'
        : `Check arm.monitor.endpoint, the model ${modelName} and the key in ${keyVariable || 'arm.monitor.keyVariable'}.`,
    });
  }

  #strike(text: string): string {
    return strikeKey(text, this.#key);
  }
}

function addressOf(endpoint: string): URL {
  return new URL('chat/completions', endpoint.endsWith('/') ? endpoint : `${endpoint}/`);
}

function parseOr(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
