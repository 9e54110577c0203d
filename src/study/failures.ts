/**
 * Why runs of an experiment failed, for whoever looks later: `.failed/RUN.txt` in its folder has what was said when the run was tried
 * last. A run that is tried again has none until it fails again.
 */
import { existsSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolder, readRegularText, writeFileAtomic } from '../base/node/index.ts';

const fileOf = (run: string): string => join(dirname(run), '.failed', `${basename(run)}.txt`);

export async function noteFailure(run: string, why: string): Promise<void> {
  makeFolder(dirname(fileOf(run)));
  await writeFileAtomic(fileOf(run), `${why}\n`);
}

export function forgetFailure(run: string): void {
  rmSync(fileOf(run), { force: true });
}

/** The first line of what was said; null where the run did not fail when it was tried last. */
export function failureOf(run: string): string | null {
  return existsSync(fileOf(run)) ? readRegularText(fileOf(run)).split('\n', 1)[0] : null;
}
