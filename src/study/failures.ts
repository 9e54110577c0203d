/**
 * Why runs of an experiment failed, for whoever looks later: `.failed/RUN.txt` in its folder has what was said when the run was tried
 * last. A run that is tried again has none until it fails again.
 */
import { existsSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../base/index.ts';
import { makeFolder, readRegularText, writeFileAtomic } from '../base/node/index.ts';

const fileOf = (run: string): string => join(dirname(run), '.failed', `${basename(run)}.txt`);

export async function noteFailure(run: string, why: string): Promise<void> {
  makeFolder(dirname(fileOf(run)));
  await writeFileAtomic(fileOf(run), `${why}\n`);
}

export function forgetFailure(run: string): void {
  rmSync(fileOf(run), { force: true });
}

const longest = 2000;

/** The first line of what was said; null where the run did not fail when it was tried last. A record that cannot be read says so: nothing else is hidden by it. */
export function failureOf(run: string): string | null {
  if (!existsSync(fileOf(run))) return null;
  try {
    const [line] = readRegularText(fileOf(run)).split('\n', 1);
    return line.length > longest ? `${line.slice(0, longest)}…` : line;
  } catch (error) {
    return `why cannot be read: ${messageOf(error)}`;
  }
}
