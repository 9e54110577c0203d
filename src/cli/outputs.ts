/** Checks of what a command will write, made before its work begins: nothing is overwritten unless asked, nothing fails at the end. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UserError } from '../base/index.ts';
import { expectWritable, makeFolder } from '../base/node/index.ts';

/** `option` names the path in the call, such as `--out`. */
export function expectNewFile(path: string, option: string, force = false): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) {
    throw new UserError({ call: `${option} ${path}`, expected: 'a file', found: 'a folder', fix: 'Name a file.' });
  }
  if (found !== undefined && !found.isFile()) {
    throw new UserError({
      call: `${option} ${path}`,
      expected: 'a file',
      found: 'a device or a pipe',
      fix: 'Name a file.',
    });
  }
  if (found !== undefined && !force) {
    throw new UserError({
      call: `${option} ${path}`,
      expected: 'a file that does not exist yet',
      found: 'one that does',
      fix: 'Name another file, or overwrite it with --force.',
    });
  }
  openPlace(path, option);
}

/** A folder that a command makes whole. */
export function expectNewFolder(path: string, option: string): void {
  if (existsSync(path)) {
    throw new UserError({
      call: `${option} ${path}`,
      expected: 'a folder that does not exist yet',
      found: 'one that does',
      fix: 'Name another folder, or remove this one.',
    });
  }
  openPlace(path, option);
}

/** Makes the folder of what will be written, once it is known that something can be. */
function openPlace(path: string, option: string): void {
  const folder = dirname(resolve(path));
  expectWritable(`${option} ${path}`, folder);
  makeFolder(folder);
}

/** Whether two paths are one file, also through links. */
export function isSameFile(one: string, other: string): boolean {
  return existsSync(one) && existsSync(other) && realpathSync(one) === realpathSync(other);
}
