/**
 * A model folder with the deployed change written into its weights: W + upᵀ · down, summed in float64 and rounded once to
 * the dtype. Every other file of the folder (tokenizer, templates, licence) is copied as it is; config.json and the weights also say
 * what labels had to do with them.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { narrowFloats, UserError } from '../base/index.ts';
import { makeFolder, readRegular, writeFileAtomic } from '../base/node/index.ts';
import type { LabelMarks, ModelFolder, WeightEntry } from '../model/index.ts';
import {
  findNonFinite,
  markConfig,
  markMetadata,
  readJsonObject,
  type SafetensorsArray,
  toFloat32,
  writeSafetensors,
} from '../model/index.ts';
import type { Adapter, LowRankChange } from './adapter.ts';

export type MergedDType = 'F32' | 'F16' | 'BF16';

/** Adds the change to weight [outputs, inputs], row major, in place. */
export function addChange(weight: Float32Array, inputs: number, { rank, down, up }: LowRankChange): void {
  const outputs = weight.length / inputs;
  const row = new Float64Array(inputs);
  for (let o = 0; o < outputs; o++) {
    row.fill(0);
    for (let k = 0; k < rank; k++) {
      const factor = up[k * outputs + o];
      if (factor === 0) continue;
      for (let c = 0; c < inputs; c++) row[c] += factor * down[k * inputs + c];
    }
    for (let c = 0; c < inputs; c++) weight[o * inputs + c] += row[c];
  }
}

/** A null `dtype` keeps each tensor's own. `marks`: of the adapter and of the folder's own weights. */
export async function writeMerged(
  directory: string,
  folder: ModelFolder,
  adapter: Adapter,
  dtype: MergedDType | null,
  marks: LabelMarks,
): Promise<void> {
  makeFolder(directory);
  await copyOtherFiles(folder.directory, directory);
  await writeConfig(join(directory, 'config.json'), dtype, marks);
  const tensors = [...folder.weights.entries.values()].map((entry) => {
    const target = dtype ?? entry.dtype;
    return { name: entry.name, dtype: target, shape: entry.shape, data: () => mergedTensor(entry, target, adapter) };
  });
  await writeSafetensors(join(directory, 'model.safetensors'), tensors, { format: 'pt', ...markMetadata(marks) });
}

/** One tensor as the merged folder stores it. */
export async function mergedTensor(
  { name, file, dtype, shape }: WeightEntry,
  target: WeightEntry['dtype'],
  adapter: Adapter,
): Promise<SafetensorsArray> {
  const stored = await file.read(name);
  const module = name.replace(/\.weight$/, '');
  const isTarget = name.endsWith('.weight') && adapter.modules.some((each) => each.name === module);
  if (!isTarget && dtype === target) return stored;
  const weight = Float32Array.from(toFloat32(stored, dtype));
  if (isTarget) addChange(weight, shape[1], await adapter.deployedChange(module));
  const data = target === 'F32' ? weight : narrowFloats(weight, target === 'BF16' ? 'bf16' : 'f16');
  const bad = findNonFinite(data, target);
  if (bad < 0) return data;
  throw new UserError({
    call: `merge the adapter into ${name}`,
    expected: `finite weights in ${target}`,
    found: `${weight[bad]} at element ${bad}`,
    fix: 'Choose a wider dtype.',
  });
}

/** Files that the merged file replaces: weights in any format, and the index of shards. */
const weightFile = /\.(?:safetensors|bin|pt|pth|gguf|h5|msgpack)$|\.index\.json$/;
const configDTypes: Readonly<Record<MergedDType, string>> = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' };

async function copyOtherFiles(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    // The base's card speaks of other weights; a licence goes along. A snapshot of the hub's cache is a folder of links.
    if (weightFile.test(name) || /^readme(\.\w+)?$/i.test(name) || !(await stat(join(from, name))).isFile()) continue;
    await writeFileAtomic(join(to, name), readRegular(join(from, name)));
  }
}

async function writeConfig(file: string, dtype: MergedDType | null, marks: LabelMarks): Promise<void> {
  const config = await readJsonObject(file);
  const key = 'torch_dtype' in config ? 'torch_dtype' : 'dtype';
  const changed = dtype === null ? config : { ...config, [key]: configDTypes[dtype] };
  await writeFileAtomic(file, `${JSON.stringify(markConfig(changed, marks), null, 2)}\n`);
}
