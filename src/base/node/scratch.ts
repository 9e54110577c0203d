/** A folder for temporary files. It is removed when it is disposed of, and also when the process exits before that. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { UserError } from '../errors.ts';

export interface ScratchFolder extends Disposable {
  readonly path: string;
}

/** Where the machine keeps temporary files. Refuses one that cannot be it: processes that work elsewhere would look for it there. */
export function temporaryParent(): string {
  const path = tmpdir();
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isAbsolute(path) && isFolder) return path;
  throw new UserError({
    call: `TMPDIR=${path}`,
    expected: 'a folder for temporary files, as an absolute path',
    found: isAbsolute(path) ? 'no such folder' : 'a relative path',
    fix: 'Set the variable TMPDIR to a folder that exists, or unset it: /tmp is used then.',
  });
}

export function scratchFolder(prefix: string): ScratchFolder {
  const path = mkdtempSync(join(temporaryParent(), prefix));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  process.once('exit', remove);
  return {
    path,
    [Symbol.dispose]() {
      process.off('exit', remove);
      remove();
    },
  };
}
