/**
 * A run directory; docs/run-directory.md describes every file. A checkpoint records how long the growing files were, and resuming
 * cuts them back to that length. The length of the verdicts is counted in rows: verdicts hold durations, so their length in bytes
 * varies, but a checkpoint must follow from the config alone.
 */
import { closeSync, existsSync, ftruncateSync, readdirSync, readSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { UserError, visibleLine } from '../base/index.ts';
import {
  expectPlainNames,
  isLocked,
  type LockUse,
  makeFolder,
  makeOwnFolder,
  openToRead,
  openToWrite,
  takeLock,
  tryLock,
  writeFileAtomic,
} from '../base/node/index.ts';
import { tasksName } from '../env/outside/names.ts';
import { damagedFile, hasSeal, initialFile, PrefixHashes, readSeal } from './checksums.ts';
import { folderAdvice } from './config/recipes.ts';
import { stampedJson } from './contents.ts';
import { expectFormat, isRun, type Manifest, readManifest } from './manifest.ts';

/** Growing files whose bytes follow from the config. */
export const exactFiles = {
  events: 'events.jsonl',
  rollouts: 'rollouts.jsonl',
  features: 'features.f32',
  directions: 'directions.f32',
} as const;
export type ExactFile = keyof typeof exactFiles;
export const grownFiles: readonly string[] = [...Object.values(exactFiles), 'verdicts.jsonl'];

/** Lengths in bytes; for verdicts, in rows. */
export type FileLengths = Readonly<Record<ExactFile | 'verdicts', number>>;

export function eachExact<Value>(make: (name: ExactFile) => Value): Record<ExactFile, Value> {
  const names = Object.keys(exactFiles) as ExactFile[];
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<ExactFile, Value>;
}

const nothing: FileLengths = { ...eachExact(() => 0), verdicts: 0 };
const newline = 0x0a;

export class RunDirectory {
  readonly path: string;
  readonly #made: string | null;
  readonly #hashes = new PrefixHashes();

  private constructor(path: string, made: string | null = null) {
    this.path = path;
    this.#made = made;
  }

  static create(path: string): RunDirectory {
    expectOneLine(path);
    expectPlainNames('the folder of a run', path);
    // Whoever has the lock is making what would be refused here: it is that process that stands in the way.
    if (existsSync(join(path, lockFile))) takeLock(join(path, lockFile), useOf(path))[Symbol.dispose]();
    if (isRun(path)) {
      throw new UserError({
        call: `create run ${path}`,
        expected: 'a directory without a run',
        found: 'a manifest.json',
        fix: `Continue it with --resume ${path}, or choose another --out.`,
      });
    }
    const others = existsSync(path) ? readdirSync(path).filter((name) => !isLeftover(join(path, name))) : [];
    if (others.length > 0) {
      throw new UserError({
        call: `create run ${path}`,
        expected: 'a new or empty folder',
        found: `${others.slice(0, 5).join(', ')}${others.length > 5 ? ` and ${others.length - 5} more` : ''}`,
        fix: 'Choose another --out, or move what is there.',
      });
    }
    const made = makeFolder(path);
    makeFolder(join(path, 'checkpoints'));
    return new RunDirectory(path, made);
  }

  /** Removes what a start that failed has made; a folder that was there before stays, empty, and that of another process as it is. */
  removeStart(): void {
    if (this.hasManifest()) return;
    const lock = tryLock(this.file(lockFile));
    if ('holder' in lock) return;
    for (const name of readdirSync(this.path)) {
      if (name !== lockFile && isLeftover(this.file(name))) rmSync(this.file(name), { recursive: true, force: true });
    }
    lock[Symbol.dispose]();
    for (let folder = resolve(this.path); this.#made !== null && removeEmpty(folder); folder = dirname(folder)) {
      if (folder === resolve(this.#made)) break;
    }
  }

  static open(path: string): RunDirectory {
    expectOneLine(path);
    if (!isRun(path)) {
      const call = `open run ${path}`;
      const expected = 'a run directory';
      if (existsSync(join(path, 'experiment.json'))) {
        const run = readdirSync(path).find((name) => isRun(join(path, name)));
        const fix =
          run === undefined ? 'None of its runs was begun.' : `Name one of its runs, such as ${join(path, run)}`;
        throw new UserError({ call, expected, found: 'an experiment', fix });
      }
      const found = existsSync(path) ? 'no manifest.json in it' : 'no such folder';
      throw new UserError({ call, expected, found, fix: folderAdvice(path) });
    }
    expectFormat(join(path, 'manifest.json'));
    return new RunDirectory(path);
  }

  static follow(path: string): RunDirectory {
    return new RunDirectory(path);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  ledger(name: 'events' | 'rollouts' | 'verdicts'): string {
    return this.file(`${name}.jsonl`);
  }

  isSealed(): boolean {
    if (hasSeal(this.path)) return true;
    for (const name of ['rollouts', 'verdicts'] as const) {
      // The lines are dropped only once the seal is on disk.
      if (!existsSync(this.file(`${name}.parquet`)) || existsSync(this.ledger(name))) continue;
      throw damagedFile(this.file('seal.json'), `the seal of a finished run, with the hash of ${name}.parquet`, 'none');
    }
    return false;
  }

  get madePool(): string {
    return this.file('made-pool.jsonl');
  }

  get generatedPairs(): string {
    return this.file('generated-pairs.json');
  }

  hasManifest(): boolean {
    return isRun(this.path);
  }

  readManifest(): Manifest {
    return readManifest(this.file('manifest.json'));
  }

  async writeManifest(manifest: Manifest): Promise<void> {
    await writeFileAtomic(this.file('manifest.json'), stampedJson(manifest));
  }

  listCheckpoints(): number[] {
    const folder = this.file('checkpoints');
    if (!existsSync(folder)) {
      if (!this.#hasRecords()) return [];
      throw damagedFile(folder, 'the folder of checkpoints', 'none');
    }
    const updates = readdirSync(folder)
      .filter((name) => /^\d{5,}$/.test(name))
      .map(Number)
      .sort((a, b) => a - b);
    const last = readSeal(this.path)?.update ?? null;
    if (last !== null && !updates.includes(last)) {
      throw damagedFile(folder, `the last checkpoint of the run, after ${last} updates`, updates.join(', ') || 'none');
    }
    return updates;
  }

  #hasRecords(): boolean {
    const files = grownFiles.map((name) => this.file(name));
    const tables = ['rollouts.parquet', 'verdicts.parquet'].map((name) => this.file(name));
    return hasSeal(this.path) || tables.some((path) => existsSync(path)) || files.some((path) => sizeOf(path) > 0);
  }

  checkpoint(update: number): string {
    return this.file(join('checkpoints', String(update).padStart(5, '0')));
  }

  measureLengths(): FileLengths {
    const sizes = eachExact((name) => sizeOf(this.file(exactFiles[name])));
    return { ...sizes, verdicts: countLines(this.ledger('verdicts')).lines };
  }

  hashGrown(lengths: FileLengths): Readonly<Record<ExactFile, string>> {
    return eachExact((name) => this.#hashes.digest(this.file(exactFiles[name]), lengths[name]));
  }

  hashVerdicts(rows: number): string {
    return this.#hashes.digest(this.ledger('verdicts'), this.measureVerdicts(rows));
  }

  measureVerdicts(rows: number): number {
    const path = this.ledger('verdicts');
    const { lines, bytes } = countLines(path, rows);
    if (lines < rows) throw damagedFile(path, `${rows} rows`, `${lines}`);
    return bytes;
  }

  cutTo(lengths: FileLengths = nothing): void {
    this.#hashes.clear();
    eachExact((name) => cutBytes(this.file(exactFiles[name]), lengths[name]));
    cutBytes(this.ledger('verdicts'), this.measureVerdicts(lengths.verdicts));
    makeOwnFolder(this.file('checkpoints'));
    for (const name of readdirSync(this.file('checkpoints'))) {
      if (name.startsWith('.')) rmSync(join(this.file('checkpoints'), name), { recursive: true });
    }
    for (const name of readdirSync(this.path)) {
      if (name.startsWith(`${initialFile}.`) && name.endsWith('.tmp')) rmSync(this.file(name));
    }
  }

  lock(): Disposable {
    for (let tries = 1; ; tries++) {
      try {
        const lock = takeLock(this.file(lockFile), useOf(this.path));
        if (!this.hasManifest()) makeFolder(this.file('checkpoints'));
        return lock;
      } catch (error) {
        // Another start that failed may have removed the folder, or what was written in it, a moment ago.
        if (tries > 100 || !isMissing(error)) throw error;
        makeFolder(this.path);
      }
    }
  }
}

/** Tables and messages name runs by their folders: a line end in one could say anything. */
function expectOneLine(path: string): void {
  if (!path.includes('\n')) return;
  throw new UserError({ call: 'the folder of a run', expected: 'a name without line ends', found: visibleLine(path) });
}

const useOf = (path: string): LockUse => ({
  call: `train ${path}`,
  expected: 'a run that no other process trains',
});

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

function removeEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

const lockFile = 'lock.json';

export const isTraining = (path: string): boolean => isLocked(join(path, lockFile));

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

function cutBytes(path: string, length: number): void {
  const size = sizeOf(path);
  if (size < length) throw damagedFile(path, `at least ${length} bytes`, `${size}`);
  const file = openToWrite(path, 'append');
  try {
    ftruncateSync(file, length);
  } finally {
    closeSync(file);
  }
}

function isLeftover(path: string): boolean {
  const name = basename(path);
  if (
    /^(?:lock\.json|\.lock-[\w-]+\.json|(?:manifest\.json|made-pool\.jsonl|outside-tasks\.json)\.[\w-]+\.tmp)$/.test(
      name,
    )
  )
    return true;
  if (name === 'made-pool.jsonl' || name === tasksName) return true;
  if (name === 'checkpoints') return statSync(path).isDirectory() && readdirSync(path).length === 0;
  return grownFiles.includes(name) && sizeOf(path) === 0;
}

function countLines(path: string, limit = Number.POSITIVE_INFINITY): { lines: number; bytes: number } {
  const counted = { lines: 0, bytes: 0 };
  if (!existsSync(path)) return counted;
  const file = openToRead(path);
  try {
    const chunk = Buffer.alloc(1 << 16);
    for (let start = 0, read = 1; read > 0 && counted.lines < limit; start += read) {
      read = readSync(file, chunk, 0, chunk.length, start);
      const bytes = chunk.subarray(0, read);
      for (let at = bytes.indexOf(newline); at >= 0 && counted.lines < limit; at = bytes.indexOf(newline, at + 1)) {
        counted.lines++;
        counted.bytes = start + at + 1;
      }
    }
  } finally {
    closeSync(file);
  }
  return counted;
}
