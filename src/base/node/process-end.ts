/** What ends a process: signals that ask it to save and stop, and errors that nobody caught. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { messageOf, UserError } from '../errors.ts';

/** Schedulers send SIGUSR1 some time before they kill; a terminal that is closed sends SIGHUP. */
export const stopSignals = (): readonly NodeJS.Signals[] =>
  isUnderNohup() ? ['SIGINT', 'SIGTERM', 'SIGUSR1'] : ['SIGINT', 'SIGTERM', 'SIGUSR1', 'SIGHUP'];

/** Node forgets at its start that nohup had SIGHUP ignored. What is left of it, at a terminal: a stdin that can only be written. */
export function isUnderNohup(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const [, flags] = /^flags:\s*(\d+)/m.exec(readFileSync('/proc/self/fdinfo/0', 'utf8')) ?? [];
    return flags?.endsWith('1') === true;
  } catch {
    return false;
  }
}

const own = fileURLToPath(new URL('../..', import.meta.url));

/** The first file of a stack that belongs neither to the package nor to Node nor to a library. */
function foreignFile(stack: string): string | undefined {
  const files = [...stack.matchAll(/file:\/\/[^\s)]+?(?=:\d+:\d+)/g)].map(([url]) => fileURLToPath(url));
  return files.find((file) => !file.startsWith(own) && !file.includes('/node_modules/'));
}

/**
 * Explains an error of a timer, or of a promise that nobody waits for. Where the stack leads to a file outside the package, a plugin is
 * to blame, and the message names it (exit 2). Otherwise the fault is ours, and the stack is shown (exit 1).
 */
export function explainUncaught(error: unknown): unknown {
  const file = error instanceof Error ? foreignFile(error.stack ?? '') : undefined;
  // Nothing of the package throws what is no error.
  if (error instanceof UserError || (error instanceof Error && file === undefined)) return error;
  const found = messageOf(error);
  return new UserError(
    {
      call: file === undefined ? 'a plugin' : `plugin ${file}`,
      expected: 'no error outside the calls that were made to it',
      found,
      fix: 'Catch it where it is thrown: in a timer, or in a promise that nobody waits for. What was saved is kept.',
    },
    { cause: error },
  );
}
