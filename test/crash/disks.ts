/**
 * Full disks: a run on a file system that is too small ends with an error that says so, and goes on, byte for byte as on a large one, once
 * there is room; every other command that writes leaves what was there, says what it could not write, and works when it is called again.
 * Needs the right to mount; without it, nothing is tried.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
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

/** Commands that write beside a run, or into it, with what they write; the run and the new things are on the disk. */
export const writingCommands: Readonly<Record<string, (disk: string) => readonly string[]>> = {
  eval: (disk) => ['eval', join(disk, 'run'), '--limit', '4'],
  figures: (disk) => ['results', join(disk, 'run'), '--figures', join(disk, 'new')],
  report: (disk) => ['results', join(disk, 'run'), '--html', '--out', join(disk, 'new')],
  export: (disk) => ['export', join(disk, 'run'), '--to', join(disk, 'new')],
  log: (disk) => ['export', join(disk, 'run'), '--log', 'inspect', '--to', join(disk, 'new')],
  view: (disk) => ['view', join(disk, 'run'), '--to', join(disk, 'new')],
  playground: (disk) => ['playground', '--to', join(disk, 'new')],
  init: (disk) => ['init', join(disk, 'new')],
};

/** What is wrong with a command on a disk that has half of the room it needs; null where file systems cannot be mounted. */
export async function fillDiskBy(name: string, home: string, whole: string): Promise<readonly string[] | null> {
  const disk = mkdtempSync(join(home, 'disk-'));
  const words = writingCommands[name](disk);
  const used = (): number => {
    const { blocks, bfree, bsize } = statfsSync(disk);
    return ((blocks - bfree) * bsize) / 1024;
  };
  if (!mount('-t', 'tmpfs', '-o', 'size=256m', 'tmpfs', disk)) return null;
  try {
    cpSync(whole, join(disk, 'run'), { recursive: true });
    const before = await fingerprint(join(disk, 'run'));
    const room = used();
    const rich = await gq(...words);
    if (rich.code !== 0) return [`with room: ${rich.code}: ${rich.err}`];
    const needed = used();
    for (const left of ['run', 'new']) rmSync(join(disk, left), { recursive: true, force: true });
    cpSync(whole, join(disk, 'run'), { recursive: true });
    mount('-o', `remount,size=${Math.floor((room + needed) / 2)}k`, disk);
    const { code, err } = await gq(...words);
    mount('-o', 'remount,size=256m', disk);
    const faults: string[] = [];
    if (code !== exitCodes.failed) faults.push(`ended with ${code}: ${err}`);
    const line = err.trim().split('\n').at(-1) ?? '';
    const says = /^gq: write (\S+): .* no space left on its disk\. Make room on that disk and call again/.exec(line);
    if (says === null || !says[1].startsWith(disk) || /\.tmp|\.part/.test(says[1])) faults.push(`said ${line}`);
    const after = await fingerprint(join(disk, 'run'));
    for (const [file, print] of before) if (after.get(file) !== print) faults.push(`changed ${file}`);
    const again = await gq(...words);
    if (again.code !== 0) faults.push(`again: ${again.code}: ${again.err}`);
    return faults;
  } finally {
    spawnSync('umount', [disk], { stdio: 'ignore' });
  }
}
