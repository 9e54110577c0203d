/**
 * The weights of a folder as one set of tensors: `model.safetensors`, or the shards that
 * `model.safetensors.index.json` names. Every shard is opened and its header checked; a tensor must be in exactly the
 * shard the index says.
 */
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { basename, existsSync, join } from '../../base/node/index.ts';
import { readJsonObject } from './json.ts';
import { SafetensorsFile } from './safetensors.ts';
import type { SafetensorsEntry } from './safetensors-header.ts';
import { parseFields } from './schema.ts';

export interface WeightEntry extends SafetensorsEntry {
  readonly file: SafetensorsFile;
}

const singleName = 'model.safetensors';
const indexName = 'model.safetensors.index.json';

export class WeightFiles implements AsyncDisposable {
  readonly directory: string;
  readonly files: readonly SafetensorsFile[];
  readonly entries: ReadonlyMap<string, WeightEntry>;

  private constructor(directory: string, files: readonly SafetensorsFile[]) {
    this.directory = directory;
    this.files = files;
    const entries = new Map<string, WeightEntry>();
    for (const file of files) {
      for (const [name, entry] of file.entries) {
        const first = entries.get(name);
        if (first !== undefined) {
          const found = `also in ${first.file.path}`;
          throw new UserError({
            call: `read ${file.path}, tensor ${name}`,
            expected: 'the tensor in one shard',
            found,
          });
        }
        entries.set(name, { ...entry, file });
      }
    }
    this.entries = entries;
  }

  static async open(directory: string): Promise<WeightFiles> {
    const single = join(directory, singleName);
    const index = join(directory, indexName);
    if (existsSync(single)) return WeightFiles.#openAll(directory, [single]);
    if (!existsSync(index)) {
      const expected = `${singleName} or ${indexName}`;
      throw new UserError({ call: `open the model ${directory}`, expected, found: 'neither' });
    }
    const shardOf = await readIndex(index);
    const shards = [...new Set(shardOf.values())].sort();
    const weights = await WeightFiles.#openAll(
      directory,
      shards.map((name) => join(directory, name)),
    );
    try {
      weights.#checkIndex(shardOf, index);
    } catch (error) {
      await weights[Symbol.asyncDispose]();
      throw error;
    }
    return weights;
  }

  static async #openAll(directory: string, paths: readonly string[]): Promise<WeightFiles> {
    const files: SafetensorsFile[] = [];
    try {
      for (const path of paths) files.push(await SafetensorsFile.open(path));
      return new WeightFiles(directory, files);
    } catch (error) {
      for (const file of files) await file[Symbol.asyncDispose]();
      throw error;
    }
  }

  #checkIndex(shardOf: ReadonlyMap<string, string>, index: string): void {
    for (const [name, shard] of shardOf) {
      const entry = this.entries.get(name);
      const found = entry === undefined ? 'in no shard' : `in ${basename(entry.file.path)}`;
      if (found !== `in ${shard}`) {
        throw new UserError({ call: `read ${index}, tensor ${name}`, expected: `the tensor in ${shard}`, found });
      }
    }
    const unlisted = [...this.entries.values()].find(({ name }) => !shardOf.has(name));
    if (unlisted !== undefined) {
      const found = `${unlisted.name} of ${unlisted.file.path} is not`;
      throw new UserError({ call: `read ${index}`, expected: 'every tensor of the shards listed', found });
    }
  }

  entry(name: string): WeightEntry {
    const entry = this.entries.get(name);
    if (entry !== undefined) return entry;
    const found = `${this.entries.size} others`;
    throw new UserError({ call: `read ${this.directory}`, expected: `a tensor ${name}`, found });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const file of this.files) await file[Symbol.asyncDispose]();
  }
}

const shardName = z
  .string({ error: 'the name of a .safetensors file' })
  .refine((name) => name === basename(name) && name.endsWith('.safetensors'), {
    error: 'the name of a .safetensors file of the same folder',
  });
const mapText = 'a map from tensor names to .safetensors files of the same folder';

const indexFile = z.object({
  weight_map: z
    .record(z.string(), shardName, { error: mapText })
    .refine((map) => Object.keys(map).length > 0, { error: mapText }),
});

async function readIndex(index: string): Promise<Map<string, string>> {
  return new Map(Object.entries(parseFields(indexFile, await readJsonObject(index), index).weight_map));
}
