/**
 * A command as a value: its arguments, its options with their types and defaults, examples, what its exit codes mean, and what it does.
 * Help, shell completion, docs/commands.md and the tests that walk all commands are made from these values; table.ts names them.
 */
import { InvalidArgumentError } from 'commander';
import { readWhole } from '../base/index.ts';

export interface TextSink {
  write(text: string): unknown;
}

export interface Streams {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
}

/** A call that was read and not done: the words that name its command, and what its `run` would get. */
export interface ParsedCall {
  readonly name: string;
  readonly call: Readonly<Record<string, unknown>>;
}

export interface CommandContext extends Streams {
  /** Is set by a command whose answer is no, or which was interrupted (`exitCodes` of src/base). */
  exitCode: number;
  /** The call as it was typed, without `gq`. */
  readonly words: readonly string[];
  /** Reads the words of another call, and refuses those that the program would refuse before it does anything. */
  readonly readCall: (words: readonly string[]) => Promise<ParsedCall>;
}

/** An argument or an option, which `run` gets as a T. */
export interface Part<T> {
  /** What stands in its place: `<n>`, `[recipe]` for an argument that may be absent, `<word...>` for several; empty for a flag. */
  readonly takes: string;
  readonly about: string;
  read?(text: string, earlier: T | undefined): T;
  readonly choices?: readonly string[];
  readonly usual?: T | undefined;
  /** The default in words, where its value says less. */
  readonly usualText?: string;
  readonly isNeeded?: boolean;
  readonly isNegated?: boolean;
}

export type PartTable = Readonly<Record<string, Part<unknown>>>;
export type CallOf<P extends PartTable> = { readonly [K in keyof P]: P[K] extends Part<infer T> ? T : never };

/** Options by their names in `run`: `dryRun` is typed `--dry-run`. */
export interface CommandValue {
  readonly arguments: PartTable;
  readonly options: PartTable;
  readonly examples: readonly string[];
  /** What an exit code says beyond what it says of every command. */
  readonly exits?: Readonly<Record<number, string>>;
  readonly notes?: string;
  /** Options after the first argument belong to that argument. */
  readonly passesOptions?: boolean;
  run(call: object, context: CommandContext): Promise<void> | void;
}

type Declared<A extends PartTable, O extends PartTable> = Omit<CommandValue, 'arguments' | 'options' | 'run'> & {
  readonly arguments?: A;
  readonly options?: O;
  run(call: CallOf<A> & CallOf<O>, context: CommandContext): Promise<void> | void;
};

/** `run` gets arguments and options together, by their names. */
// biome-ignore lint/complexity/noBannedTypes: a command without arguments or options has none
export function command<A extends PartTable = {}, O extends PartTable = {}>(declared: Declared<A, O>): CommandValue {
  return { arguments: {}, options: {}, ...declared } as CommandValue;
}

export function argument(takes: string, about: string): Part<string> {
  return { takes, about };
}

export function flag(about: string): Part<boolean> {
  return { takes: '', about, usual: false };
}

export function word<U extends string | undefined = undefined>(
  takes: string,
  about: string,
  usual?: U,
): Part<string | U> {
  return { takes, about, usual };
}

interface WholeRange<U> {
  readonly least?: number;
  readonly most?: number;
  readonly usual?: U;
}

/** A whole number; at least 1 unless another bound is given. */
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
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
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
