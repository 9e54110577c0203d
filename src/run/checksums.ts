/** JSON files of a run or an experiment, read through a schema, and the checksums of what a run stores. A file that has grown is hashed on from where the last hash ended. */
import { createHash, type Hash } from 'node:crypto';
import { closeSync, existsSync, fstatSync, readSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { messageOf, UserError } from '../base/index.ts';
import { openToRead, readRegularText, sha256File, streamRegular, writeFileAtomic } from '../base/node/index.ts';
import { rewardsName, tasksName } from '../env/outside/names.ts';
import { answersName } from '../monitors/judge/answer-file.ts';
import { contentHash, stampedJson } from './contents.ts';

const restore = 'The run directory is damaged: restore it from a copy, or start a new run.';

export const damagedFile = (path: string, expected: string, found: string, fix = restore): UserError =>
  new UserError({ call: `read ${path}`, expected, found, fix });

export class PrefixHashes {
  readonly #known = new Map<string, { readonly hash: Hash; readonly bytes: number }>();

  clear(): void {
    this.#known.clear();
  }

  digest(path: string, bytes: number): string {
    const known = this.#known.get(path);
    const before = known !== undefined && known.bytes <= bytes ? known : { hash: createHash('sha256'), bytes: 0 };
    const hash = before.hash.copy();
    if (bytes > before.bytes) feed(hash, path, before.bytes, bytes);
    this.#known.set(path, { hash, bytes });
    return hash.copy().digest('hex');
  }
}

function feed(hash: Hash, path: string, from: number, to: number): void {
  const file = openToRead(path);
  try {
    const chunk = Buffer.alloc(bytesPerRead);
    for (let at = from; at < to; ) {
      const read = readSync(file, chunk, 0, Math.min(chunk.length, to - at), at);
      if (read === 0) throw damagedFile(path, `at least ${to} bytes`, `${at}`);
      hash.update(chunk.subarray(0, read));
      at += read;
    }
  } finally {
    closeSync(file);
  }
}

const bytesPerRead = 2 ** 20;

export function expectHash(path: string, expected: string, bytes?: number): void {
  const size = sizeOf(path, bytes);
  compareHashes(path, expected, new PrefixHashes().digest(path, bytes ?? size), bytes);
}

/** The same, in pieces between which other work goes on: a large file takes seconds. */
export async function expectHashInPieces(path: string, expected: string, bytes?: number): Promise<void> {
  const size = sizeOf(path, bytes);
  const read = bytes ?? size;
  const hash = createHash('sha256');
  if (read > 0) for await (const piece of streamRegular(path, bytesPerRead, read - 1)) hash.update(piece);
  compareHashes(path, expected, hash.digest('hex'), bytes);
}

function sizeOf(path: string, least = 0): number {
  if (!existsSync(path)) throw damagedFile(path, 'a file', 'none');
  const file = openToRead(path);
  const { size } = fstatSync(file);
  closeSync(file);
  if (size < least) throw damagedFile(path, `at least ${least} bytes`, `${size}`);
  return size;
}

function compareHashes(path: string, expected: string, found: string, bytes?: number): void {
  if (found === expected) return;
  const part = bytes === undefined || bytes === sizeOf(path) ? 'bytes' : `first ${bytes} bytes`;
  throw damagedFile(path, `${part} with the hash that was stored (${expected})`, `another hash (${found})`);
}

/** What to do about a file that a command can make again. */
export const makeAgain = (command: string): string =>
  `The file was damaged, or something else wrote it: delete it, and ${command} makes it again.`;

export function readStamped<Schema extends z.ZodType>(
  path: string,
  what: string,
  schema: Schema,
  fix = `The file was changed or is damaged. ${restore}`,
): z.infer<Schema> {
  const call = `read ${path}`;
  const { value: raw, text } = readJsonText(path, call, what, fix);
  const { checksum, ...content } = (isTable(raw) ? raw : {}) as Record<string, unknown>;
  const checked = checkStored(isTable(raw) ? content : raw, call, what, schema, fix);
  // The text is compared too, so that no byte of the file can change unseen.
  const actual = contentHash(content);
  if (checksum === actual && text === stampedJson(content, actual)) return checked;
  const found = checksum === undefined ? 'no checksum' : `content that its checksum does not fit (${checksum})`;
  throw damagedFile(path, `${what}, as it was written`, found, fix);
}

const isTable = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

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
  tasksName,
  rewardsName,
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

export function readStored<Schema extends z.ZodType>(
  path: string,
  what: string,
  schema: Schema,
  fix?: string,
): z.infer<Schema> {
  const call = `read ${path}`;
  return checkStored(readJsonText(path, call, what, fix).value, call, what, schema, fix);
}

export function checkStored<Schema extends z.ZodType>(
  value: unknown,
  call: string,
  what: string,
  schema: Schema,
  fix?: string,
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const found = parsed.error.issues.map(({ path, message }) => {
    return `${path.length === 0 ? 'the whole value' : `key ${path.map(String).join('.')}`}: ${message}`;
  });
  throw new UserError({ call, expected: what, found: found.join('; '), fix });
}

export function readJsonText(
  path: string,
  call: string,
  what: string,
  fix?: string,
): { readonly value: unknown; readonly text: string } {
  try {
    const text = readRegularText(path);
    return { value: JSON.parse(text), text };
  } catch (cause) {
    throw new UserError({ call, expected: `${what}, as JSON`, found: messageOf(cause), fix }, { cause });
  }
}
