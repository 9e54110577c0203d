/** What the files of a run or an experiment look like, in a word that changes when one of them does. */
import { statSync } from 'node:fs';
import { join } from 'node:path';

const names = [
  'manifest.json',
  'eval-curve.json',
  'experiment.json',
  'events.jsonl',
  'seal.json',
  'evaluations',
  'lock.json',
  'relearn',
];

export function stampOf(path: string): string {
  return names.map((name) => fileStamp(join(path, name))).join();
}

/** The same without what grows with every update of a run that is trained. */
export function resultStampOf(path: string): string {
  const isTrained = fileStamp(join(path, 'seal.json')) === '-';
  const own = names.filter((name) => !isTrained || (name !== 'events.jsonl' && name !== 'lock.json'));
  return own.map((name) => fileStamp(join(path, name))).join();
}

/** A file that is missing has none; one that cannot be looked at has one of its own, and whoever reads it is told why. */
export function fileStamp(path: string): string {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found === undefined ? '-' : `${found.mtimeMs}/${found.size}`;
  } catch {
    return '?';
  }
}
