/** A chat-completions endpoint in the manner of OpenAI's, asked by the client that retries, follows no redirect and keeps its key (base/node/http-client.ts). */
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import {
  HttpClient,
  type HttpReply,
  jsonOrNull,
  type Pause,
  type TransportFault,
} from '../../base/node/http-client.ts';

export interface EndpointSettings {
  readonly modelName: string;
  readonly keyVariable: string;
  readonly maxTokens: number;
  readonly timeoutSeconds: number;
  readonly retries: number;
}

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

const path = 'chat/completions';

export class ChatEndpoint {
  readonly #settings: EndpointSettings;
  readonly #client: HttpClient;

  constructor(endpoint: string, settings: EndpointSettings, pause?: Pause) {
    this.#settings = settings;
    const { keyVariable, timeoutSeconds, retries } = settings;
    const words = { who: 'judge', keyName: 'arm.monitor.keyVariable' };
    this.#client = new HttpClient(endpoint, { ...words, keyVariable, timeoutSeconds, retries }, pause);
  }

  get address(): string {
    return this.#client.addressOf(path);
  }

  async ask(question: string, signal: AbortSignal): Promise<EndpointReply> {
    const { modelName: model, maxTokens: max_tokens } = this.#settings;
    const messages = [{ role: 'user', content: question }];
    const body = { model, messages, temperature: 0, max_tokens };
    const found = await this.#client.post({ path, body, mostBytes }, signal);
    const { requests } = found;
    if (found.kind === 'answer') return { ...this.#read(found), requests };
    return { text: null, fault: found.fault, detail: found.detail, requests, tokens: 0, model: null };
  }

  #read({ status, body }: Extract<HttpReply, { kind: 'answer' }>): Omit<EndpointReply, 'requests'> {
    const said = body.slice(0, shownCharacters);
    const faulty = (fault: AnswerFault, detail: string, tokens = 0, model: string | null = null) => ({
      ...{ text: null, fault, detail, tokens, model },
    });
    if ([400, 413, 422].includes(status)) return faulty('refused', `status ${status}: ${said}`);
    if (status !== 200) throw this.#misdirected(status, said);
    const parsed = completionShape.safeParse(jsonOrNull(body));
    if (!parsed.success) return faulty('malformed', said);
    const [{ message, finish_reason: finish }] = parsed.data.choices;
    const tokens = parsed.data.usage?.total_tokens ?? 0;
    const model = parsed.data.model ? this.#client.strike(parsed.data.model).slice(0, shownCharacters) : null;
    if (message.refusal || finish === 'content_filter') return faulty('refused', 'a refusal', tokens, model);
    const text = this.#client.strike(message.content ?? '').trim();
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
}
