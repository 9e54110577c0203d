/**
 * Refuses a place where nothing can be written, before the work whose results would go there. It writes a file there and removes it:
 * permissions alone do not tell, as in /proc or on a disk that can only be read.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { UserError } from '../errors.ts';
import { visibleLine } from '../text.ts';
import { systemComplaint } from './system-error.ts';

/** `call` says what names the path. Folders that do not exist yet are left to be made later: the nearest one that exists is tried. */
export function expectWritable(call: string, path: string): void {
  expectPlainNames(call, path);
  const folder = nearestFolder(call, resolve(path));
  const probe = join(folder, `.gq-${randomUUID()}`);
  try {
    closeSync(openSync(probe, 'wx'));
    rmSync(probe);
  } catch (cause) {
    // In /proc the system says that there is no such file.
    const reason = systemComplaint(cause)?.found.replace('no such file or folder', 'that nothing can be made there');
    throw new UserError(
      {
        call,
        expected: 'a place where files can be written',
        found: `${folder}: ${reason ?? String(cause)}`,
        fix: 'Name another path.',
      },
      { cause },
    );
  }
}

/** Line ends, control characters, and marks that turn the order of text around: a name with one could say anything in a table or a shell. */
const unwanted = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** Refuses to make such a name; those of files and folders that exist are shown with escapes. */
export function expectPlainNames(call: string, path: string): void {
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) {
    if (!unwanted.test(basename(at))) continue;
    throw new UserError({
      call: visibleLine(call),
      expected: 'a new name without line ends and control characters',
      found: visibleLine(basename(at)),
      fix: 'Name another path.',
    });
  }
}

function nearestFolder(call: string, path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined && dirname(path) !== path) return nearestFolder(call, dirname(path));
  if (found?.isDirectory()) return path;
  throw new UserError({ call, expected: 'a folder', found: `the file ${path}`, fix: 'Name another path.' });
}
