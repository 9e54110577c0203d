/**
 * The contract of a command file: it exports one `configure<Name>` function that declares arguments, options, help and
 * action on the Command it is given. The table in program.ts names the command and loads its file only when it is used.
 * An action writes to the context's streams, throws UserError for wrong input, and sets `exitCode` when it ran
 * without an error but its answer is no, or was interrupted (`exitCodes` of src/base).
 */
import type { Command } from 'commander';

export interface TextSink {
  write(text: string): unknown;
}

export interface Streams {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
}

export interface CommandContext extends Streams {
  exitCode: number;
  /** Refuses the words of a call that the program would refuse before it does anything: another command, options, arguments. */
  readonly expectCall?: (words: readonly string[]) => Promise<void>;
}

export type ConfigureCommand = (command: Command, context: CommandContext) => void;

/** Help text with examples of how a command is called, one per line. */
export function examplesText(...lines: readonly string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  $ ${line}`)].join('\n');
}
