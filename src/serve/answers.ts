/** Answers in the form of OpenAI's API: whole ones and chunks of a stream, of completions and of chats. */
import { randomUUID } from 'node:crypto';
import type { DrawnToken, TokenChance } from '../model/index.ts';
import type { Choice, ChoicePiece } from './choice.ts';
import type { TextRequest } from './requests.ts';

export interface AnswerContext {
  readonly request: TextRequest;
  readonly model: string;
  readonly tokenText: (token: number) => string;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

function usageOf(choices: readonly Choice[]): Usage {
  const total = (count: (choice: Choice) => number): number => choices.reduce((sum, choice) => sum + count(choice), 0);
  // Choices that share a prompt count it once, as the API does.
  const prompts = new Set(choices.map(({ row }) => row.prompt));
  const prompt = [...prompts].reduce((sum, { length }) => sum + length, 0);
  const completion = total(({ drawn }) => drawn.length);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

export class AnswerWriter {
  readonly #context: AnswerContext;
  readonly #head: { readonly id: string; readonly created: number; readonly model: string };
  /** Length of the text so far of each choice, where offsets of tokens are told. */
  readonly #offsets = new Map<number, number>();
  readonly #begun = new Set<number>();

  constructor(context: AnswerContext) {
    this.#context = context;
    const prefix = context.request.kind === 'chat' ? 'chatcmpl' : 'cmpl';
    this.#head = { id: `${prefix}-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: context.model };
  }

  /** The whole answer. */
  whole(choices: readonly Choice[]): object {
    const { kind } = this.#context.request;
    const made = choices.map(({ index, text, drawn, finish, row }) => ({
      index,
      ...(kind === 'chat' ? { message: { role: 'assistant', content: text } } : { text }),
      logprobs: this.#logprobs(index, drawn),
      finish_reason: finish,
      ...this.#ids(drawn, row.prompt),
    }));
    const object = kind === 'chat' ? 'chat.completion' : 'text_completion';
    return { ...this.#head, object, choices: made, usage: usageOf(choices) };
  }

  /** A chunk of a stream; null for a piece with nothing to tell. */
  chunk({ index, text, drawn, finish }: ChoicePiece): object | null {
    const { kind, wishes } = this.#context.request;
    const told = drawn === null ? [] : [drawn];
    if (text === '' && finish === null && !(drawn !== null && (wishes.tokenIds || wishes.logprobs !== null)))
      return null;
    const role = this.#begun.has(index) ? {} : { role: 'assistant' };
    this.#begun.add(index);
    const choice = {
      index,
      ...(kind === 'chat' ? { delta: { ...role, content: text } } : { text }),
      logprobs: told.length === 0 ? null : this.#logprobs(index, told),
      finish_reason: finish,
      ...(wishes.tokenIds ? { token_ids: told.map(({ token }) => token) } : {}),
    };
    return { ...this.#head, object: this.#chunkKind, choices: [choice] };
  }

  /** The last chunk of a stream whose client asked what it used. */
  usage(choices: readonly Choice[]): object {
    return { ...this.#head, object: this.#chunkKind, choices: [], usage: usageOf(choices) };
  }

  get #chunkKind(): string {
    return this.#context.request.kind === 'chat' ? 'chat.completion.chunk' : 'text_completion';
  }

  #ids(drawn: readonly DrawnToken[], prompt: Int32Array): object {
    if (!this.#context.request.wishes.tokenIds) return {};
    return { token_ids: drawn.map(({ token }) => token), prompt_token_ids: Array.from(prompt) };
  }

  #logprobs(index: number, drawn: readonly DrawnToken[]): object | null {
    const { request, tokenText } = this.#context;
    if (request.wishes.logprobs === null) return null;
    if (request.kind === 'chat') {
      const entry = ({ token, logp }: TokenChance) => {
        const text = tokenText(token);
        return { token: text, logprob: logp, bytes: [...Buffer.from(text)] };
      };
      return {
        content: drawn.map((each) => ({ ...entry(each), top_logprobs: each.likeliest.map(entry) })),
        refusal: null,
      };
    }
    const texts = drawn.map(({ token }) => tokenText(token));
    let offset = this.#offsets.get(index) ?? 0;
    const offsets = texts.map(({ length }) => {
      offset += length;
      return offset - length;
    });
    this.#offsets.set(index, offset);
    return {
      tokens: texts,
      token_logprobs: drawn.map(({ logp }) => logp),
      top_logprobs: drawn.map(({ likeliest }) =>
        Object.fromEntries(likeliest.map(({ token, logp }) => [tokenText(token), logp])),
      ),
      text_offset: offsets,
    };
  }
}
