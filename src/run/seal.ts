/** The seal of a run that is over: the hash of every file that will not change any more, and the last checkpoint. */
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { sha256File, writeFileAtomic } from '../base/node/index.ts';
import { answersName } from '../monitors/judge/answer-file.ts';
import { damagedFile, expectHash, expectHashInPieces, readStamped, stampedJson } from './checksums.ts';

const sealName = 'seal.json';
export const initialFile = 'initial.safetensors';

const sealSchema = z.object({
  update: z.number().int().min(0).nullable(),
  files: z.record(z.string(), z.string()),
});
export type Seal = Readonly<z.infer<typeof sealSchema>>;

const sealedFiles = [
  'rollouts.parquet',
  'verdicts.parquet',
  'events.jsonl',
  'features.f32',
  'directions.f32',
  'timings.jsonl',
  initialFile,
  'generated-pairs.json',
  'made-pool.jsonl',
  answersName,
];

export function readSeal(directory: string): Seal | null {
  const path = join(directory, sealName);
  return existsSync(path) ? readStamped(path, 'the seal of a run', sealSchema) : null;
}

export const hasSeal = (directory: string): boolean => existsSync(join(directory, sealName));

export async function writeSeal(
  directory: string,
  update: number | null,
  known: ReadonlyMap<string, string> = new Map(),
): Promise<void> {
  const files: Record<string, string> = {};
  for (const name of sealedFiles) {
    const path = join(directory, name);
    if (existsSync(path)) files[name] = known.get(name) ?? (await sha256File(path));
  }
  const seal: Seal = { update, files };
  await writeFileAtomic(join(directory, sealName), stampedJson(seal));
}

/** Refuses a file of a sealed run that is missing or was changed. Returns whether the run is sealed and lists the file. */
export async function expectSealed(path: string): Promise<boolean> {
  const hash = readSeal(dirname(path))?.files[basename(path)];
  if (hash === undefined) return false;
  await expectHashInPieces(path, hash);
  return true;
}

export function expectAllSealed(directory: string): void {
  for (const [name, hash] of Object.entries(readSeal(directory)?.files ?? {})) expectHash(join(directory, name), hash);
}

export function expectRows(path: string, rowBytes: number): void {
  const { size } = statSync(path);
  if (size % rowBytes !== 0) throw damagedFile(path, `whole rows of ${rowBytes} bytes`, `${size} bytes: it was cut`);
}
