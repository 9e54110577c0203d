/**
 * Errors that nobody caught: thrown by a timer, or by a promise that nobody waits for. Where the stack leads to a file outside the
 * package, a plugin is to blame, and the message names it (exit 2). Otherwise the fault is ours, and the stack is shown (exit 1).
 */
import { fileURLToPath } from 'node:url';
import { UserError } from '../errors.ts';

const own = fileURLToPath(new URL('../..', import.meta.url));

/** The first file of a stack that belongs neither to the package nor to Node nor to a library. */
function foreignFile(stack: string): string | undefined {
  const files = [...stack.matchAll(/file:\/\/[^\s)]+?(?=:\d+:\d+)/g)].map(([url]) => fileURLToPath(url));
  return files.find((file) => !file.startsWith(own) && !file.includes('/node_modules/'));
}

export function explainUncaught(error: unknown): unknown {
  const file = error instanceof Error ? foreignFile(error.stack ?? '') : undefined;
  // Nothing of the package throws what is no error.
  if (error instanceof UserError || (error instanceof Error && file === undefined)) return error;
  const found = error instanceof Error ? error.message : String(error);
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
