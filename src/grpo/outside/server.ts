/**
 * A server that samples, in its own words: vLLM's completions and SGLang's /generate, both by token ids, and how each loads an adapter.
 * Every setting that changes tokens is said, since a server has defaults of its own. Answers are bounded in time and size.
 */
import { z } from 'zod';
import { HttpClient, jsonOrNull } from '../../base/node/http-client.ts';
import type { SamplingSettings } from '../../model/index.ts';
import type { SamplerTable } from './table.ts';

/** What a server did wrong, or failed to do. */
export class ServerFault extends Error {}

/** A completion as a server tells it. */
export interface ToldCompletion {
  readonly tokens: readonly number[];
  /** One for each token, under the whole distribution at temperature 1. */
  readonly logps: readonly number[];
  readonly text: string;
  readonly finish: string;
  /** The prompt that it says it read; null: it does not say. */
  readonly prompt: readonly number[] | null;
}

export interface Wish {
  /** The name of an adapter that is loaded. */
  readonly adapter: string;
  /** What its weights are: the server's cache of prompts is apart for each. */
  readonly salt: string;
  readonly prompt: Int32Array;
  readonly seed: number;
}

interface Speech {
  readonly load: string;
  /** How a server is started that loads adapters. */
  readonly start: string;
  readonly unload: string;
  readonly sample: string;
  question(wish: Wish, settings: SamplingSettings): object;
  /** Null for what is no such answer. */
  read(body: unknown): ToldCompletion | null;
}

const ids = z.array(z.number());

const vllmShape = z.object({
  choices: z.tuple([
    z.object({
      text: z.string(),
      finish_reason: z.string(),
      token_ids: ids,
      prompt_token_ids: ids.nullish(),
      logprobs: z.object({ token_logprobs: ids }),
    }),
  ]),
});

const vllm: Speech = {
  load: 'load_lora_adapter',
  start: 'vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 in its environment, gq serve with --adapters',
  unload: 'unload_lora_adapter',
  sample: 'completions',
  question: ({ adapter, salt, prompt, seed }, { temperature, topK, topP, minP, maxNewTokens, stopTokens }) => ({
    ...{ model: adapter, prompt: Array.from(prompt), max_tokens: maxNewTokens, seed, n: 1 },
    ...{ temperature, top_k: topK, top_p: topP, min_p: minP, stop_token_ids: stopTokens },
    ...{ presence_penalty: 0, frequency_penalty: 0, repetition_penalty: 1, ignore_eos: false },
    ...{ logprobs: 0, return_token_ids: true, cache_salt: salt },
  }),
  read: (body) => {
    const [choice] = vllmShape.safeParse(body).data?.choices ?? [];
    if (choice === undefined) return null;
    const { text, finish_reason: finish, token_ids: tokens, prompt_token_ids: prompt = null, logprobs } = choice;
    return { text, finish, tokens, logps: logprobs.token_logprobs, prompt };
  },
};

const sglangShape = z.object({
  text: z.string(),
  meta_info: z.object({
    finish_reason: z.object({ type: z.string() }),
    output_token_logprobs: z.array(z.tuple([z.number(), z.number()]).rest(z.unknown())),
  }),
});

const sglang: Speech = {
  load: 'load_lora_adapter',
  start: 'SGLang with --enable-lora',
  unload: 'unload_lora_adapter',
  sample: 'generate',
  question: ({ adapter, prompt, seed }, { temperature, topK, topP, minP, maxNewTokens, stopTokens }) => ({
    input_ids: Array.from(prompt),
    lora_path: adapter,
    sampling_params: {
      ...{ temperature, top_k: topK === 0 ? -1 : topK, top_p: topP, min_p: minP },
      ...{ max_new_tokens: maxNewTokens, stop_token_ids: stopTokens, ignore_eos: false, sampling_seed: seed },
      ...{ presence_penalty: 0, frequency_penalty: 0, repetition_penalty: 1 },
    },
    ...{ return_logprob: true, stream: false },
  }),
  read: (body) => {
    const { data } = sglangShape.safeParse(body);
    if (data === undefined) return null;
    const { finish_reason: finish, output_token_logprobs: drawn } = data.meta_info;
    const [logps, tokens] = [drawn.map(([logp]) => logp), drawn.map(([, token]) => token)];
    return { text: data.text, finish: finish.type, tokens, logps, prompt: null };
  },
};

const speeches = { vllm, sglang } satisfies Record<SamplerTable['kind'], Speech>;

/** Room for what an answer says beside its tokens, and for each token: its id, its text, its log-probability, twice. */
const [bytesAround, bytesPerToken] = [2 ** 16, 1024];
const shownCharacters = 200;
const keyHelp = 'the key is that in the environment variable which sampler.keyVariable names';

export class SamplingServer {
  readonly #speech: Speech;
  readonly #client: HttpClient;
  /** Requests so far, and how many of them were made again. */
  counts = { requests: 0, retries: 0 };

  constructor(url: string, { kind, keyVariable, timeoutSeconds, retries }: SamplerTable) {
    this.#speech = speeches[kind];
    const settings = { keyVariable, timeoutSeconds, retries };
    this.#client = new HttpClient(url, { who: 'sampler', keyName: 'sampler.keyVariable', ...settings });
  }

  /** A name that the server has already, as after a kill, is loaded again from this folder. */
  async load(name: string, folder: string, signal: AbortSignal): Promise<void> {
    const { load } = this.#speech;
    const body = { lora_name: name, lora_path: folder };
    if ((await this.#ask(load, body, bytesAround, signal)).status === 200) return;
    await this.unload(name, signal);
    this.#expectOk(load, await this.#ask(load, body, bytesAround, signal));
  }

  /** A name that the server does not have is unloaded already. */
  async unload(name: string, signal: AbortSignal): Promise<void> {
    await this.#ask(this.#speech.unload, { lora_name: name }, bytesAround, signal);
  }

  async complete(wish: Wish, settings: SamplingSettings, signal: AbortSignal): Promise<ToldCompletion> {
    const { sample: path, question, read } = this.#speech;
    const mostBytes = bytesAround + bytesPerToken * (wish.prompt.length + settings.maxNewTokens);
    const answer = await this.#ask(path, question(wish, settings), mostBytes, signal);
    this.#expectOk(path, answer);
    const told = read(jsonOrNull(answer.body));
    if (told !== null) return told;
    const what = 'an answer without token ids, their log-probabilities, a text or a reason to end';
    throw this.#fault(path, `${what}: ${answer.body.slice(0, shownCharacters)}`);
  }

  async #ask(path: string, body: object, mostBytes: number, signal: AbortSignal) {
    const reply = await this.#client.post({ path, body, mostBytes }, signal);
    this.counts.requests += reply.requests;
    this.counts.retries += reply.requests - 1;
    if (reply.kind === 'answer') return reply;
    const { fault, detail, requests } = reply;
    throw this.#fault(path, `${fault}: ${detail}, after ${requests} ${requests === 1 ? 'request' : 'requests'}`);
  }

  #expectOk(path: string, { status, body }: { readonly status: number; readonly body: string }): void {
    if (status === 200) return;
    const moved = status >= 300 && status < 400 ? ' (redirects are not followed)' : '';
    const told = `status ${status}${moved}: ${body.slice(0, shownCharacters)}`;
    const { load, start } = this.#speech;
    if (status === 401 || status === 403) throw this.#fault(path, `${told} (${keyHelp})`);
    throw this.#fault(path, path === load && status === 404 ? `${told} (start ${start})` : told);
  }

  #fault(path: string, what: string): ServerFault {
    return new ServerFault(`${this.#client.addressOf(path)}: ${what}`);
  }
}
