/** A command as a value, from which help, completion, docs/commands.md and the tests of all commands are made. */
import { InvalidArgumentError } from 'commander';
import { readWhole } from '../base/index.ts';

export type TextSink = { write(text: string): unknown };

export type Streams = { readonly stdout: TextSink; readonly stderr: TextSink };

export type ParsedCall = { readonly name: string; readonly call: Readonly<Record<string, unknown>> };

export interface CommandContext extends Streams {
  exitCode: number;
  readonly words: readonly string[];
  /** Reads the words of another call, and refuses those that the program would refuse before it does anything. */
  readonly readCall: (words: readonly string[]) => Promise<ParsedCall>;
}

export interface Part<T> {
  /** What stands in its place: `<n>`, `[recipe]` for an argument that may be absent, `<word...>` for several; empty for a flag. */
  readonly takes: string;
  readonly about: string;
  read?(text: string, earlier: T | undefined): T;
  readonly choices?: readonly string[];
  readonly usual?: T | undefined;
  readonly usualText?: string;
  readonly isNeeded?: boolean;
  readonly isNegated?: boolean;
}

export type PartTable = Readonly<Record<string, Part<unknown>>>;
export type CallOf<P extends PartTable> = { readonly [K in keyof P]: P[K] extends Part<infer T> ? T : never };

/** What a command found: the value that --json prints, and its text. A no ends with exit code 1. */
export interface CommandResult {
  readonly value: unknown;
  readonly text: (width: number) => string;
  readonly isNo?: boolean;
}

type Run<Call> = (
  call: Call,
  context: CommandContext,
) => Promise<CommandResult | undefined> | Promise<void> | CommandResult | void;

export interface CommandValue {
  readonly arguments: PartTable;
  readonly options: PartTable;
  readonly examples: readonly string[];
  readonly exits?: Readonly<Record<number, string>>;
  readonly notes?: string;
  readonly passesOptions?: boolean;
  readonly run: Run<object>;
}

/** `json`: what its option of that name prints. */
type Declared<A extends PartTable, O extends PartTable> = Omit<CommandValue, 'arguments' | 'options' | 'run'> & {
  readonly arguments?: A;
  readonly options?: O;
  readonly json?: string;
  readonly run: Run<CallOf<A> & CallOf<O> & { readonly json: boolean }>;
};

// biome-ignore lint/complexity/noBannedTypes: a command without arguments or options has none
export function command<A extends PartTable = {}, O extends PartTable = {}>(declared: Declared<A, O>): CommandValue {
  const { json, options, ...rest } = declared;
  const all = { ...options, ...(json === undefined ? {} : { json: flag(`print ${json}`) }) };
  return { arguments: {}, ...rest, options: all } as CommandValue;
}

export const argument = (takes: string, about: string): Part<string> => ({ takes, about });

export const flag = (about: string): Part<boolean> => ({ takes: '', about, usual: false });

export function word<U extends string | undefined = undefined>(
  takes: string,
  about: string,
  usual?: U,
): Part<string | U> {
  return { takes, about, usual };
}

type WholeRange<U> = { readonly least?: number; readonly most?: number; readonly usual?: U };

export function whole<U extends number | undefined = undefined>(
  takes: string,
  about: string,
  { least = 1, most = Number.MAX_SAFE_INTEGER, usual }: WholeRange<U> = {},
): Part<number | U> {
  return { takes, about, usual, read: (word) => wholeFrom(word, least, most) };
}

/** More processes, rows or GPUs than a machine has. */
export const mostAtOnce = 4096;

export function wholeFrom(text: string, least = 1, most = Number.MAX_SAFE_INTEGER): number {
  const value = readWhole(text, least, most);
  if (value !== null) return value;
  // The bound of every number is said where it is what is wrong.
  const above = Number(text) > most ? `, of at most ${most}` : '';
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}${above}` : `from ${least} to ${most}`;
  throw new InvalidArgumentError(`Expected a whole number ${range}.`);
}

export function wholes(takes: string, about: string, least = 1): Part<readonly number[] | undefined> {
  return { takes, about, read: (word) => word.split(',').map((part) => wholeFrom(part, least)) };
}

export function names(takes: string, about: string): Part<readonly string[] | undefined> {
  return { takes, about, read: (word) => word.split(',').map((name) => name.trim()) };
}

export function choice<const C extends string, const U extends C | undefined = undefined>(
  takes: string,
  about: string,
  choices: readonly C[],
  usual?: U,
): Part<C | U> {
  return { takes, about, choices, usual };
}

export function repeated(takes: string, about: string): Part<readonly string[]> {
  const read = (word: string, earlier: readonly string[] = []): readonly string[] => [...earlier, word];
  return { takes, about: `${about}; may be repeated`, usual: [], read };
}

export function needed<T>(part: Part<T>): Part<NonNullable<T>> {
  return { ...part, isNeeded: true } as Part<NonNullable<T>>;
}
