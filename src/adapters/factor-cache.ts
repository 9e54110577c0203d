/**
 * Initial factors on disk, one safetensors file per module, named by the hash of everything they depend on. A file is whole
 * or absent (it is renamed into place), and its contents are hashed: one that does not match is an error, never used.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256, UserError } from '../base/index.ts';
import { SafetensorsFile, writeSafetensors } from '../model/index.ts';
import type { InitialFactors } from './families.ts';

interface FactorShape {
  readonly outputs: number;
  readonly inputs: number;
  readonly rank: number;
}

export class FactorCache {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async get(key: string, shape: FactorShape, compute: () => Promise<InitialFactors>): Promise<InitialFactors> {
    const path = join(this.#directory, `${key}.safetensors`);
    if (existsSync(path)) return readFactors(path, key, shape);
    const factors = await compute();
    await mkdir(this.#directory, { recursive: true });
    await writeFactors(path, key, shape, factors);
    return factors;
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
  const shapes = ['A0', 'B0'].map((name) => file.entry(name).shape.join());
  const factors = { A0: await file.readFloat32('A0'), B0: await file.readFloat32('B0') };
  const fits = shapes.join(' ') === `${2 * rank},${inputs} ${outputs},${2 * rank}`;
  const { metadata } = file;
  if (fits && metadata['key'] === key && metadata['sha256'] === hashFactors(factors)) return factors;
  throw new UserError({
    call: `read the cached factors ${path}`,
    expected: `A0 [${2 * rank},${inputs}] and B0 [${outputs},${2 * rank}] whose hash is the stored one`,
    found: fits ? 'other contents' : `shapes [${shapes.join('] and [')}]`,
    fix: 'Remove the file: it will be computed again.',
  });
}
