/** Answers in the form of OpenAI's API: whole ones and chunks of a stream, of completions and of chats. */
import { randomUUID } from 'node:crypto';
import type { RankedToken, TokenChance } from '../model/index.ts';
import type { Choice, ChoicePiece } from './choice.ts';
import type { TextRequest } from './requests.ts';

export interface AnswerContext {
  readonly request: TextRequest;
  readonly model: string;
  readonly text: (tokens: Int32Array) => string;
}

/** A token of an answer that begins with its prompt: no chance is known of the very first. */
type PromptToken = RankedToken | { readonly token: number; readonly logp: null; readonly likeliest: null };

function usageOf(choices: readonly Choice[]) {
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
  readonly #offsets = new Map<number, number>();
  readonly #begun = new Set<number>();

  constructor(context: AnswerContext) {
    this.#context = context;
    const prefix = context.request.kind === 'chat' ? 'chatcmpl' : 'cmpl';
    this.#head = { id: `${prefix}-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: context.model };
  }

  whole(choices: readonly Choice[]): object {
    const { kind } = this.#context.request;
    const made = choices.map((choice) => {
      const { index, text, drawn, finish, row } = choice;
      return {
        index,
        ...(kind === 'chat'
          ? { message: { role: 'assistant', content: text } }
          : { text: this.#echoedText(choice) + text }),
        logprobs: this.#logprobs(index, [...this.#echoed(choice), ...drawn]),
        finish_reason: finish,
        ...this.#ids(drawn, row.prompt),
      };
    });
    const object = kind === 'chat' ? 'chat.completion' : 'text_completion';
    return { ...this.#head, object, choices: made, usage: usageOf(choices) };
  }

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

  usage(choices: readonly Choice[]): object {
    return { ...this.#head, object: this.#chunkKind, choices: [], usage: usageOf(choices) };
  }

  #echoedText({ row }: Choice): string {
    return this.#context.request.wishes.echo ? this.#context.text(row.prompt) : '';
  }

  #echoed({ row, promptChances }: Choice): PromptToken[] {
    const { echo, logprobs } = this.#context.request.wishes;
    if (!echo || logprobs === null) return [];
    return [{ token: row.prompt[0], logp: null, likeliest: null }, ...promptChances];
  }

  get #chunkKind(): string {
    return this.#context.request.kind === 'chat' ? 'chat.completion.chunk' : 'text_completion';
  }

  #ids(drawn: readonly RankedToken[], prompt: Int32Array): object {
    if (!this.#context.request.wishes.tokenIds) return {};
    return { token_ids: drawn.map(({ token }) => token), prompt_token_ids: Array.from(prompt) };
  }

  #logprobs(index: number, tokens: readonly PromptToken[]): object | null {
    const { request } = this.#context;
    if (request.wishes.logprobs === null) return null;
    return request.kind === 'chat' ? this.#chatLogprobs(tokens) : this.#completionLogprobs(index, tokens);
  }

  #chatLogprobs(tokens: readonly PromptToken[]): object {
    const entry = ({ token, logp }: { token: number; logp: number | null }) => {
      const text = this.#tokenText(token);
      // The bytes of a token that is a part of a character are not known here.
      return { token: text, logprob: logp, bytes: text.includes('\ufffd') ? null : [...Buffer.from(text)] };
    };
    const content = tokens.map((each) => ({ ...entry(each), top_logprobs: (each.likeliest ?? []).map(entry) }));
    return { content, refusal: null };
  }

  #completionLogprobs(index: number, tokens: readonly PromptToken[]): object {
    const texts = tokens.map(({ token }) => this.#tokenText(token));
    let offset = this.#offsets.get(index) ?? 0;
    const offsets = texts.map(({ length }) => {
      offset += length;
      return offset - length;
    });
    this.#offsets.set(index, offset);
    return {
      tokens: texts,
      token_logprobs: tokens.map(({ logp }) => logp),
      top_logprobs: tokens.map(({ likeliest, ...own }) => (likeliest === null ? null : this.#byText(own, likeliest))),
      text_offset: offsets,
    };
  }

  #byText(own: { token: number; logp: number | null }, likeliest: readonly TokenChance[]): object {
    const found: Record<string, number | null> = {};
    for (const { token, logp } of [...likeliest, own]) found[this.#tokenText(token)] ??= logp;
    return found;
  }

  #tokenText(token: number): string {
    return this.#context.text(Int32Array.of(token));
  }
}
