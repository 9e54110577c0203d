/**
 * Full disks: a run on a file system that is too small ends with an error that says so, and goes on, byte for byte as on a large one, once
 * there is room. Needs the right to mount; without it, nothing is tried.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes } from '../../src/base/index.ts';
import { fingerprint } from '../resume/kill.ts';
import { gq } from '../run-gq.ts';

export interface DiskReport {
  readonly kibibytes: number;
  readonly outcome: 'identical' | 'silent' | 'stack' | 'never full';
  readonly detail: string;
}

/** Sizes of disks in KiB, from nothing to the whole of the run: 26 of them. */
export const diskSizes: readonly number[] = [4, 8, ...Array.from({ length: 24 }, (_, i) => 12 * (i + 1))];

function mount(...args: readonly string[]): boolean {
  return spawnSync('mount', args, { stdio: 'ignore' }).status === 0;
}

/** Null where file systems cannot be mounted. */
export async function fillDisk(
  kibibytes: number,
  home: string,
  train: readonly string[],
  whole: string,
): Promise<DiskReport | null> {
  const disk = join(home, `disk-${kibibytes}`);
  mkdirSync(disk);
  if (!mount('-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', disk)) return null;
  try {
    const run = join(disk, 'run');
    const first = await gq('train', ...train, '--out', run);
    const said = { kibibytes, detail: first.err.trim() };
    if (first.code === 0) return { ...said, outcome: 'never full' };
    if (first.code !== exitCodes.failed || /^\s+at /m.test(first.err)) return { ...said, outcome: 'stack' };
    mount('-o', 'remount,size=256m', disk);
    const again = existsSync(join(run, 'manifest.json')) ? ['--resume', run] : [...train, '--out', run];
    const second = await gq('train', ...again);
    if (second.code !== 0) return { kibibytes, outcome: 'stack', detail: second.err.trim() };
    const [found, expected] = [await fingerprint(run), await fingerprint(whole)];
    const differing = [...expected].filter(([name, print]) => found.get(name) !== print).map(([name]) => name);
    return differing.length === 0
      ? { ...said, outcome: 'identical' }
      : { kibibytes, outcome: 'silent', detail: `other bytes in ${differing.join(', ')}` };
  } finally {
    spawnSync('umount', [disk], { stdio: 'ignore' });
  }
}
