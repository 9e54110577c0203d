/** Writes report.html. A file that this program did not make is overwritten only with --force. */
import { closeSync, existsSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UserError } from '../base/index.ts';
import { makeFolder, openToRead, writeFileAtomic } from '../base/node/index.ts';
import type { Results } from './aggregate.ts';
import { generatorTag, type ReportOptions, renderReport } from './html.ts';

export interface WrittenReport {
  readonly file: string;
  readonly bytes: number;
}

/** Bytes from the start of a report that are certain to hold the generator tag. */
const headBytes = 4096;

export async function writeReport(
  file: string,
  results: Results,
  options: ReportOptions & { readonly force: boolean },
): Promise<WrittenReport> {
  expectOwnFile(file, options.force);
  const html = Buffer.from(await renderReport(results, options));
  makeFolder(dirname(file));
  await writeFileAtomic(file, html);
  return { file, bytes: html.length };
}

/** Refuses a folder and, unless forced, a file that this program did not make; a missing file is fine. */
export function expectOwnFile(file: string, force: boolean): void {
  if (!existsSync(file)) return;
  const isFile = statSync(file).isFile();
  if (isFile && (force || readHead(file).includes(generatorTag))) return;
  throw new UserError({
    call: `write ${file}`,
    expected: 'no such file, or a report that gq made',
    found: isFile ? 'a file that gq did not make' : 'a folder',
    fix: isFile ? 'Name another with --out, or overwrite it with --force.' : 'Name a file with --out.',
  });
}

function readHead(path: string): string {
  const file = openToRead(path);
  try {
    const head = Buffer.alloc(headBytes);
    return head.toString('utf8', 0, readSync(file, head, 0, headBytes, 0));
  } finally {
    closeSync(file);
  }
}
