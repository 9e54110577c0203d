/**
 * A run directory; docs/run-directory.md describes every file. A checkpoint records how long the growing files were, and resuming
 * cuts them back to that length. The length of the verdicts is counted in rows: verdicts hold durations, so their length in bytes
 * varies, but a checkpoint must follow from the config alone.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../base/index.ts';
import { writeFileAtomic } from '../base/node/index.ts';
import { lockRun } from './lock.ts';
import { expectFormat, type Manifest, readManifest } from './manifest.ts';

/** Growing files whose bytes follow from the config. */
const exactFiles = {
  events: 'events.jsonl',
  rollouts: 'rollouts.jsonl',
  features: 'features.f32',
  directions: 'directions.f32',
} as const;
type ExactFile = keyof typeof exactFiles;

/** Lengths in bytes; for verdicts, in rows. */
export type FileLengths = Readonly<Record<ExactFile | 'verdicts', number>>;

const nothing: FileLengths = { events: 0, rollouts: 0, features: 0, directions: 0, verdicts: 0 };
const newline = 0x0a;

export class RunDirectory {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static create(path: string): RunDirectory {
    if (existsSync(join(path, 'manifest.json'))) {
      throw new UserError({
        call: `create run ${path}`,
        expected: 'a directory without a run',
        found: 'a manifest.json',
        fix: `Continue it with --resume ${path}, or choose another --out.`,
      });
    }
    mkdirSync(join(path, 'checkpoints'), { recursive: true });
    return new RunDirectory(path);
  }

  static open(path: string): RunDirectory {
    const manifest = join(path, 'manifest.json');
    if (!existsSync(manifest)) {
      throw new UserError({ call: `open run ${path}`, expected: 'a run directory', found: 'no manifest.json' });
    }
    expectFormat(manifest);
    return new RunDirectory(path);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  ledger(name: 'events' | 'rollouts' | 'verdicts'): string {
    return this.file(`${name}.jsonl`);
  }

  /** Whether the run is over and its tables are Parquet. */
  isSealed(): boolean {
    return existsSync(this.file('rollouts.parquet')) && existsSync(this.file('verdicts.parquet'));
  }

  hasManifest(): boolean {
    return existsSync(this.file('manifest.json'));
  }

  readManifest(): Manifest {
    return readManifest(this.file('manifest.json'));
  }

  async writeManifest(manifest: Manifest): Promise<void> {
    await writeFileAtomic(this.file('manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  }

  /** The updates that have a complete checkpoint, in order. */
  listCheckpoints(): number[] {
    return readdirSync(this.file('checkpoints'))
      .filter((name) => /^\d{5,}$/.test(name))
      .map(Number)
      .sort((a, b) => a - b);
  }

  checkpoint(update: number): string {
    return this.file(join('checkpoints', String(update).padStart(5, '0')));
  }

  /** The current lengths of the growing files. */
  measureLengths(): FileLengths {
    const size = (name: ExactFile): number => sizeOf(this.file(exactFiles[name]));
    return {
      events: size('events'),
      rollouts: size('rollouts'),
      features: size('features'),
      directions: size('directions'),
      verdicts: countLines(this.ledger('verdicts')).lines,
    };
  }

  /** Cuts the growing files back to the lengths that a checkpoint recorded; without lengths, empties them. */
  cutTo(lengths: FileLengths = nothing): void {
    for (const name of Object.keys(exactFiles) as ExactFile[]) cutBytes(this.file(exactFiles[name]), lengths[name]);
    const verdicts = this.ledger('verdicts');
    const { lines, bytes } = countLines(verdicts, lengths.verdicts);
    if (lines < lengths.verdicts) throw damaged(verdicts, `${lengths.verdicts} rows`, `${lines}`);
    cutBytes(verdicts, bytes);
    for (const name of readdirSync(this.file('checkpoints'))) {
      if (name.startsWith('.')) rmSync(join(this.file('checkpoints'), name), { recursive: true });
    }
  }

  lock(): Disposable {
    return lockRun(this.path);
  }
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

function cutBytes(path: string, length: number): void {
  const size = sizeOf(path);
  if (size < length) throw damaged(path, `at least ${length} bytes`, `${size}`);
  if (existsSync(path)) truncateSync(path, length);
  else writeFileSync(path, '');
}

function damaged(path: string, expected: string, found: string): UserError {
  return new UserError({
    call: `resume ${path}`,
    expected,
    found,
    fix: 'The run directory is damaged: restore it from a copy, or start a new run.',
  });
}

/** Counts complete lines, at most `limit` of them, and the bytes they take. */
function countLines(path: string, limit = Number.POSITIVE_INFINITY): { lines: number; bytes: number } {
  const counted = { lines: 0, bytes: 0 };
  if (!existsSync(path)) return counted;
  const file = openSync(path, 'r');
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
