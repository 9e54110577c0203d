/**
 * The chat template of a folder: Jinja text from `chat_template.jinja` or from `chat_template` of
 * `tokenizer_config.json`, rendered by @huggingface/jinja as transformers' apply_chat_template does. Encode the result
 * without adding special tokens: the template has written them.
 */
import { Template } from '@huggingface/jinja';
import { z } from 'zod';
import { messageOf, UserError } from '../../base/index.ts';
import { existsSync, join, withinLimit } from '../../base/node/index.ts';
import { readText, show } from '../files/json.ts';
import { parseFields } from '../files/schema.ts';
import type { ModelTokenizer } from './tokenizer.ts';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
}

export interface ChatOptions {
  /** Whether the text ends with the opening of the assistant's turn. */
  readonly addGenerationPrompt: boolean;
  /** Default: what the template itself takes. Giving it to a template that does not read it is an error. */
  readonly enableThinking?: boolean;
}

/** Templates that print a date would make a prompt depend on the day; this is the one they fall back to themselves. */
const fixedDate = '26 Jul 2024';

export class ChatTemplate {
  readonly file: string;
  readonly source: string;
  readonly #template: Template;
  readonly #mayLoop: boolean;
  readonly #tokens: Readonly<Record<string, string>>;
  readonly #mostSeconds: number;

  constructor(
    source: string,
    file: string,
    specialTokens: Readonly<Record<string, string>>,
    mostSeconds = usualSeconds,
  ) {
    this.file = file;
    this.source = source;
    this.#tokens = specialTokens;
    this.#mostSeconds = mostSeconds;
    this.#mayLoop = mayLoop(source);
    try {
      // The block's own line is removed by trim_blocks, as transformers sets it.
      this.#template = new Template(source.includes('range') ? `{% set range = bounded_range %}\n${source}` : source);
      const large = largestNumber(this.#template.parsed);
      if (large > mostNumber) throw new Error(`the number ${large}, of which a filter may make so many characters`);
    } catch (cause) {
      throw new UserError({ call: `read ${file}`, expected: 'a Jinja template', found: reason(cause) }, { cause });
    }
  }

  /** The template of a folder with this tokenizer; null when it has none. */
  static async open(directory: string, tokenizer: ModelTokenizer): Promise<ChatTemplate | null> {
    const tokens = Object.fromEntries(
      (['bos', 'eos', 'pad', 'unk'] as const).map((kind) => [`${kind}_token`, tokenizer.specialToken(kind) ?? '']),
    );
    const file = join(directory, 'chat_template.jinja');
    if (existsSync(file)) return new ChatTemplate(await readText(file), file, tokens);
    const configFile = join(directory, 'tokenizer_config.json');
    const { chat_template: source } = parseFields(templateKey, tokenizer.files.config, configFile);
    return source === undefined ? null : new ChatTemplate(source, `${configFile}, key chat_template`, tokens);
  }

  get readsThinking(): boolean {
    return this.source.includes('enable_thinking');
  }

  render(messages: readonly ChatMessage[], { addGenerationPrompt, enableThinking }: ChatOptions): string {
    if (enableThinking !== undefined && !this.readsThinking) {
      throw new UserError({
        call: `render ${this.file}`,
        expected: 'a template that reads enable_thinking',
        found: 'one that does not',
        fix: 'Leave enableThinking out for this model.',
      });
    }
    try {
      const values = {
        bounded_range: boundedRange,
        ...this.#tokens,
        messages: messages.map((message) => ({ ...message })),
        add_generation_prompt: addGenerationPrompt,
        date_string: fixedDate,
        ...(enableThinking === undefined ? {} : { enable_thinking: enableThinking }),
      };
      const render = (): string => this.#template.render(values);
      const text = this.#mayLoop ? withinSeconds(render, this.#mostSeconds) : render();
      if (text.length > mostCharacters)
        throw new Error(`a text of ${text.length} characters, more than ${mostCharacters}`);
      return text;
    } catch (cause) {
      const expected = `messages the template accepts, ${show(messages.map(({ role }) => role))}`;
      throw new UserError({ call: `render ${this.file}`, expected, found: reason(cause) }, { cause });
    }
  }
}

const longestRange = 100_000;
/** How long a template may take: a thousand times what a real one does. */
const usualSeconds = 5;
/** Longer than any prompt. */
const mostCharacters = 10_000_000;
const mostNumber = 1_000_000;

/** The largest whole number that stands in a template. */
function largestNumber(node: unknown): number {
  if (typeof node !== 'object' || node === null) return 0;
  const { type, value } = node as { type?: unknown; value?: unknown };
  if (type === 'IntegerLiteral' && typeof value === 'number') return value;
  return Object.values(node).reduce<number>((most, inner) => Math.max(most, largestNumber(inner)), 0);
}

/** Python's range, with a bound: the template of a stranger may ask for a list that fills the memory. */
function boundedRange(start: number, stop?: number, step = 1): number[] {
  const [first, end] = typeof stop === 'number' ? [start, stop] : [0, start];
  const length = Math.max(0, Math.ceil((end - first) / step));
  if (length <= longestRange) return Array.from({ length }, (_, i) => first + i * step);
  throw new Error(`a range of ${length} numbers, more than ${longestRange}`);
}

/** Whether a template does more than go through the messages once. Watching one that does not takes longer than rendering it. */
function mayLoop(source: string): boolean {
  const loops = source.match(/\bfor\b/g) ?? [];
  const overMessages = source.match(/\bfor\s+\w+\s+in\s+messages\b(?!\s*[[.|+])/g) ?? [];
  return loops.length > 1 || overMessages.length !== loops.length || /\b(?:macro|call|set\s+messages)\b/.test(source);
}

/** Ends a template that loops without end. */
function withinSeconds(work: () => string, mostSeconds: number): string {
  const done = withinLimit(work, mostSeconds * 1000);
  if (done === null) throw new Error(`no end after ${mostSeconds} seconds`);
  return done.value;
}

function reason(cause: unknown): string {
  return messageOf(cause);
}

const templateText = 'a template, or a list with one named "default"';
const namedTemplates = z.array(z.looseObject({ name: z.string(), template: z.string() }));

/** `chat_template` of tokenizer_config.json: one template, or a list of named ones of which "default" is meant. */
const templateKey = z.object({
  chat_template: z
    .union([z.string(), namedTemplates], { error: templateText })
    .transform((value) => (typeof value === 'string' ? value : value.find(({ name }) => name === 'default')?.template))
    .pipe(z.string({ error: templateText }))
    .optional(),
});
