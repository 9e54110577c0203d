/**
 * Initial factors on disk, one safetensors file per module, named by the hash of everything they depend on. A file is whole
 * or absent (it is renamed into place), so any number of processes may compute and write the same one; those of one machine wait
 * for the first. Its contents are hashed: a damaged one is told of, computed again and replaced, never used.
 */
import { constants, existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, UserError } from '../base/index.ts';
import { makeFolder, sha256, tryLock } from '../base/node/index.ts';
import { SafetensorsFile, writeSafetensors } from '../model/index.ts';
import type { InitialFactors } from './starts/start.ts';

interface FactorShape {
  readonly outputs: number;
  readonly inputs: number;
  readonly rank: number;
}

/** How often it is looked whether another process is done. */
const waitMs = 50;

export class FactorCache {
  readonly #directory: string;
  readonly #tell: (message: string) => void;

  /** `tell` is given one sentence for each file that is damaged. */
  constructor(directory: string, tell: (message: string) => void) {
    this.#directory = directory;
    this.#tell = tell;
  }

  /** The signal ends the waiting for another process. */
  async get(
    key: string,
    shape: FactorShape,
    compute: () => Promise<InitialFactors>,
    signal?: AbortSignal,
  ): Promise<InitialFactors> {
    const path = join(this.#directory, `${key}.safetensors`);
    for (;;) {
      const seen = existsSync(path);
      const kept = seen ? await this.#read(path, key, shape) : null;
      if (kept !== null) return kept;
      await this.#prepare();
      const lock = tryLock(join(this.#directory, `${key}.lock.json`));
      if ('holder' in lock && lock.holder.host === hostname()) {
        await sleep(waitMs, undefined, signal === undefined ? {} : { signal });
        continue;
      }
      using _lock = 'holder' in lock ? null : lock;
      if (!seen && existsSync(path)) continue; // Another was done before the lock was ours.
      const factors = await compute();
      await writeFactors(path, key, shape, factors);
      return factors;
    }
  }

  /** Null for a file that is not what was written. */
  async #read(path: string, key: string, shape: FactorShape): Promise<InitialFactors | null> {
    try {
      return await readFactors(path, key, shape);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.#tell(`the kept factors ${path} are damaged (found ${error.complaint.found}): they are computed again`);
      return null;
    }
  }

  /** A folder that cannot be written is refused before anything is computed. */
  async #prepare(): Promise<void> {
    try {
      makeFolder(this.#directory);
      await access(this.#directory, constants.W_OK);
    } catch (cause) {
      const found = messageOf(cause);
      const fix = 'Set the environment variable GQ_CACHE to a folder that can be written.';
      throw new UserError(
        { call: `keep factors in ${this.#directory}`, expected: 'a folder that can be written', found, fix },
        { cause },
      );
    }
  }
}

function hashFactors({ A0, B0 }: InitialFactors): string {
  const bytes = [A0, B0].map((data) => sha256(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)));
  return sha256(bytes.join());
}

function writeFactors(path: string, key: string, shape: FactorShape, factors: InitialFactors): Promise<void> {
  const { outputs, inputs, rank } = shape;
  const tensors = [
    { name: 'A0', dtype: 'F32' as const, shape: [2 * rank, inputs], data: () => factors.A0 },
    { name: 'B0', dtype: 'F32' as const, shape: [outputs, 2 * rank], data: () => factors.B0 },
  ];
  return writeSafetensors(path, tensors, { key, sha256: hashFactors(factors) });
}

async function readFactors(path: string, key: string, { outputs, inputs, rank }: FactorShape): Promise<InitialFactors> {
  await using file = await SafetensorsFile.open(path);
  const shapes = ['A0', 'B0'].map((name) => file.entries.get(name)?.shape.join() ?? 'none');
  const fits = shapes.join(' ') === `${2 * rank},${inputs} ${outputs},${2 * rank}`;
  const factors = fits ? { A0: await file.readFloat32('A0'), B0: await file.readFloat32('B0') } : null;
  const { metadata } = file;
  if (factors !== null && metadata['key'] === key && metadata['sha256'] === hashFactors(factors)) return factors;
  throw new UserError({
    call: `read the cached factors ${path}`,
    expected: `A0 [${2 * rank},${inputs}] and B0 [${outputs},${2 * rank}] whose hash is the stored one`,
    found: fits ? 'other contents' : `shapes [${shapes.join('] and [')}]`,
  });
}
