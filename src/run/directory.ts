/**
 * A run directory, format 1. What is in it:
 *   manifest.json            config, hashes, versions, seed, command, notes; written before the model loads
 *   events.jsonl             one line per event of training: a function of the config, byte for byte
 *   rollouts.jsonl           the gate ledger, one line per rollout (rollouts.parquet once sealed)
 *   verdicts.jsonl           what the grader found, written by the grader only (verdicts.parquet once sealed)
 *   features.f32             features of the trained rollouts, row after row
 *   timings.jsonl            seconds per phase: the only file that depends on the clock
 *   checkpoints/00010/       adapter.safetensors, trainer.safetensors, state.json after 10 updates
 * Files only grow. A checkpoint records their lengths; resuming cuts them back to those and goes on.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { writeFileAtomic } from '../base/atomic-file.ts';
import { UserError } from '../base/errors.ts';
import { JsonlWriter } from '../base/jsonl.ts';
import type { RunConfig } from './schema.ts';

export const runFormat = 1;

export interface Manifest {
  readonly format: typeof runFormat;
  readonly name: string;
  readonly config: RunConfig;
  readonly configHash: string;
  readonly version: string;
  readonly node: string;
  readonly command: readonly string[];
  readonly created: string;
  readonly modelHash: string;
  readonly dataHash: string;
  readonly pairsHash: string | null;
  readonly usesOracle: boolean;
  /** Kernel variant and threads: bytes are reproducible for the same variant. */
  readonly device: string;
  readonly features: { readonly modules: readonly string[]; readonly rank: number };
  readonly parent: { readonly run: string; readonly update: number } | null;
}

export const ledgers = ['events', 'rollouts', 'verdicts'] as const;
export type Ledger = (typeof ledgers)[number];
export type FileLengths = Readonly<Record<Ledger | 'features', number>>;

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
    if (existsSync(join(path, 'manifest.json'))) return new RunDirectory(path);
    throw new UserError({ call: `open run ${path}`, expected: 'a run directory', found: 'no manifest.json' });
  }

  file(name: string): string {
    return join(this.path, name);
  }

  ledger(name: Ledger): string {
    return this.file(`${name}.jsonl`);
  }

  get sealed(): boolean {
    return existsSync(this.file('rollouts.parquet')) && existsSync(this.file('verdicts.parquet'));
  }

  async writeManifest(manifest: Manifest): Promise<void> {
    await writeFileAtomic(this.file('manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  }

  get manifest(): Manifest {
    const manifest: Manifest = JSON.parse(readFileSync(this.file('manifest.json'), 'utf8'));
    if (manifest.format === runFormat) return manifest;
    const found = `format ${manifest.format}`;
    throw new UserError({ call: `open run ${this.path}`, expected: `format ${runFormat}`, found });
  }

  /** Updates of the complete checkpoints, in order. */
  get checkpoints(): number[] {
    return readdirSync(this.file('checkpoints'))
      .filter((name) => /^\d{5,}$/.test(name))
      .map(Number)
      .sort((a, b) => a - b);
  }

  checkpoint(update: number): string {
    return this.file(join('checkpoints', String(update).padStart(5, '0')));
  }

  /** Bytes of each growing file; JSONL counts whole lines, since writers never leave others behind. */
  get lengths(): FileLengths {
    const size = (path: string): number => (existsSync(path) ? statSync(path).size : 0);
    const [events, rollouts, verdicts] = ledgers.map((name) => size(this.ledger(name)));
    return { events, rollouts, verdicts, features: size(this.file('features.f32')) };
  }

  /** Cuts the growing files back to what they were at a checkpoint. */
  cutTo(lengths: FileLengths): void {
    const cut = (path: string, length: number): void => {
      if (!existsSync(path)) writeFileSync(path, '');
      const { size } = statSync(path);
      if (size < length) {
        const found = `${size} bytes`;
        throw new UserError({
          call: `resume ${path}`,
          expected: `at least ${length} bytes`,
          found,
          fix: 'The run directory was damaged.',
        });
      }
      truncateSync(path, length);
    };
    for (const name of ledgers) cut(this.ledger(name), lengths[name]);
    cut(this.file('features.f32'), lengths.features);
    for (const name of readdirSync(this.file('checkpoints'))) {
      if (name.startsWith('.')) rmSync(join(this.file('checkpoints'), name), { recursive: true });
    }
  }

  /** One process trains a run at a time. */
  lock(): Disposable {
    const path = this.file('lock.json');
    if (existsSync(path)) {
      const { pid, host }: { pid: number; host: string } = JSON.parse(readFileSync(path, 'utf8'));
      if (host !== hostname() || isAlive(pid)) {
        throw new UserError({
          call: `train ${this.path}`,
          expected: 'a run that nobody trains',
          found: `process ${pid} on ${host}`,
          fix: `If it is gone, delete ${path}.`,
        });
      }
    }
    writeFileSync(path, JSON.stringify({ pid: process.pid, host: hostname() }));
    return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** The writers of a live run. */
export class RunWriters implements Disposable {
  readonly events: JsonlWriter;
  readonly rollouts: JsonlWriter;
  readonly timings: JsonlWriter;
  readonly #features: number;

  constructor(run: RunDirectory) {
    this.events = new JsonlWriter(run.ledger('events'));
    this.rollouts = new JsonlWriter(run.ledger('rollouts'));
    this.timings = new JsonlWriter(run.file('timings.jsonl'));
    this.#features = openSync(run.file('features.f32'), 'a');
  }

  appendFeatures(rows: readonly Float32Array[]): void {
    for (const row of rows) writeSync(this.#features, new Uint8Array(row.buffer, row.byteOffset, row.byteLength));
  }

  /** What a checkpoint is about to refer to must be on disk first. */
  flush(): void {
    fsyncSync(this.#features);
  }

  [Symbol.dispose](): void {
    this.events.close();
    this.rollouts.close();
    this.timings.close();
    closeSync(this.#features);
  }
}
