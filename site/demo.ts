/** The study that the site's demo shows: `gq demo --quick`, seed 1 by rule, trained once by make-demo.ts and stored without its weights. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unpack } from '../test/golden-study/study.ts';

export const demoArchive = fileURLToPath(new URL('demo-study.br', import.meta.url));
export const demoPage = fileURLToPath(new URL('demo.md', import.meta.url));
/** When it was trained, as the page says: the viewer shows how long ago that is. */
export const madeOf = (page: string): { commit: string; date: string } => {
  const [, commit, date] = /commit `([0-9a-f]{8})`, (\d{4}-\d\d-\d\d)/.exec(page) ?? [];
  if (commit === undefined) throw new Error('site/demo.md names no commit and date of its study');
  return { commit, date };
};

/** Returns the folder of runs, in `scratch`. */
export function unpackDemo(scratch: string): string {
  const runs = join(scratch, 'demo');
  unpack(demoArchive, runs, Date.parse(madeOf(readFileSync(demoPage, 'utf8')).date) / 1000);
  return runs;
}
