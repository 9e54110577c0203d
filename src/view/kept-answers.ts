/** Answers that were read and stay right as long as the files behind them do. Of each kind the ones that were asked for last are kept. */
import { statSync } from 'node:fs';
import { join } from 'node:path';

type Kept = { readonly stamp: string; readonly value: Promise<unknown> };

export class KeptAnswers {
  readonly #most: number;
  readonly #kinds = new Map<string, Map<string, Kept>>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Reads, or gives what was read under the same stamp. What could not be read is read again the next time. */
  get<Value>(kind: string, key: string, stamp: string, read: () => Promise<Value>): Promise<Value> {
    const all = this.#kinds.get(kind) ?? new Map<string, Kept>();
    this.#kinds.set(kind, all);
    const known = all.get(key);
    const kept = known?.stamp === stamp ? known : { stamp, value: (async () => read())() };
    all.delete(key);
    all.set(key, kept);
    for (const oldest of all.keys()) if (all.size > this.#most) all.delete(oldest);
    kept.value.catch(() => all.get(key) === kept && all.delete(key));
    return kept.value as Promise<Value>;
  }
}

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

export const stampOf = (path: string): string => names.map((name) => fileStamp(join(path, name))).join();

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
