/**
 * Damage to the files of a run: each file is deleted, cut and changed by a bit in several places. What follows must be what would have
 * been without the damage, byte for byte, or an error (exit 2) that says what is wrong; nothing may be wrong silently.
 */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fingerprint } from '../resume/kill.ts';
import { gq } from '../run-gq.ts';

export type Outcome = 'identical' | 'clear error' | 'silent' | 'stack';

export interface Damage {
  readonly file: string;
  readonly kind: string;
}

const cuts: Readonly<Record<string, (size: number) => number>> = {
  'cut to nothing': () => 0,
  'cut in half': (size) => Math.floor(size / 2),
  'cut by a byte': (size) => size - 1,
};
const flips: Readonly<Record<string, (size: number) => number>> = {
  'a bit near the start': (size) => Math.min(size - 1, 11),
  'a bit in the middle': (size) => Math.floor(size / 2),
  'a bit near the end': (size) => Math.max(0, size - 7),
};

/** Every damage to every file of a run that is not empty. */
export function damagesOf(run: string): Damage[] {
  return readdirSync(run, { recursive: true, encoding: 'utf8' })
    .filter((file) => statSync(join(run, file)).isFile() && statSync(join(run, file)).size > 0)
    .sort()
    .flatMap((file) => ['deleted', ...Object.keys(cuts), ...Object.keys(flips)].map((kind) => ({ file, kind })));
}

function apply(run: string, { file, kind }: Damage): void {
  const path = join(run, file);
  const { size } = statSync(path);
  if (kind === 'deleted') rmSync(path);
  else if (kind in cuts) truncateSync(path, cuts[kind](size));
  else {
    const bytes = readFileSync(path);
    bytes[flips[kind](size)] ^= 1;
    writeFileSync(path, bytes);
  }
}

export interface DamageReport extends Damage {
  readonly outcome: Outcome;
  readonly detail: string;
}

export interface DamageOptions {
  /** The run to damage: a copy of it is, each time. */
  readonly run: string;
  /** A place for the copy. */
  readonly copy: string;
  /** The run that an undamaged one becomes. */
  readonly whole: string;
}

/** Damages a copy, goes on with it, and says what came of it. */
export async function tryDamage(damage: Damage, { run, copy, whole }: DamageOptions): Promise<DamageReport> {
  rmSync(copy, { recursive: true, force: true });
  cpSync(run, copy, { recursive: true });
  apply(copy, damage);
  const { code, err } = await gq('train', '--resume', copy);
  const said = { ...damage, detail: err.trim() };
  if (code === 2) return { ...said, outcome: 'clear error' };
  if (code !== 0) return { ...said, outcome: 'stack' };
  const [found, expected] = [await fingerprint(copy), await fingerprint(whole)];
  const differing = [...expected].filter(([name, print]) => found.get(name) !== print).map(([name]) => name);
  const others = differing.filter((name) => name !== damage.file);
  if (differing.length === 0) return { ...said, outcome: 'identical' };
  if (others.length > 0) return { ...said, outcome: 'silent', detail: `other bytes in ${others.join(', ')}` };
  return { ...said, ...(await useDamaged(copy, damage)) };
}

/** A file that going on never looked at, such as an earlier checkpoint, must be refused by whoever uses it. */
async function useDamaged(copy: string, { file }: Damage): Promise<Pick<DamageReport, 'outcome' | 'detail'>> {
  const [folder, update] = file.split(sep);
  if (folder !== 'checkpoints') return { outcome: 'silent', detail: `other bytes in ${file}` };
  const fork = ['train', '--fork', `${copy}@${Number(update)}`, '--adapter-only', '--out', `${copy}-fork`];
  const { code, err } = await gq(...fork);
  rmSync(`${copy}-fork`, { recursive: true, force: true });
  return code === 2 ? { outcome: 'clear error', detail: err.trim() } : { outcome: 'silent', detail: 'a fork took it' };
}
