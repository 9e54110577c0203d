/**
 * The tensors a decoder must have (Hugging Face names and shapes), the check of a folder against them, and the loader
 * that hands them over one at a time. All complaints about names, shapes and dtypes come before the first byte of data
 * is read; a NaN or infinite weight stops the load and is named.
 */
import { UserError } from '../../base/index.ts';
import type { DecoderConfig } from './config.ts';
import { findNonFinite, type SafetensorsArray, toFloat32 } from './safetensors.ts';
import type { WeightFiles } from './weight-files.ts';

export type TensorTable = ReadonlyMap<string, readonly number[]>;

/** Weight matrices are [out, in]. Order: embedding, layers, final norm, head. */
export function expectedTensors(config: DecoderConfig): TensorTable {
  const { hiddenSize, intermediateSize, vocabSize, headDim } = config;
  const queryWidth = config.heads * headDim;
  const keyWidth = config.kvHeads * headDim;
  const table = new Map<string, readonly number[]>([['model.embed_tokens.weight', [vocabSize, hiddenSize]]]);
  for (let layer = 0; layer < config.layers; layer += 1) {
    const add = (name: string, ...shape: number[]) => table.set(`model.layers.${layer}.${name}`, shape);
    add('input_layernorm.weight', hiddenSize);
    add('self_attn.q_proj.weight', queryWidth, hiddenSize);
    add('self_attn.k_proj.weight', keyWidth, hiddenSize);
    add('self_attn.v_proj.weight', keyWidth, hiddenSize);
    if (config.qkvBias) {
      add('self_attn.q_proj.bias', queryWidth);
      add('self_attn.k_proj.bias', keyWidth);
      add('self_attn.v_proj.bias', keyWidth);
    }
    if (config.qkNorm) {
      add('self_attn.q_norm.weight', headDim);
      add('self_attn.k_norm.weight', headDim);
    }
    add('self_attn.o_proj.weight', hiddenSize, queryWidth);
    add('post_attention_layernorm.weight', hiddenSize);
    add('mlp.gate_proj.weight', intermediateSize, hiddenSize);
    add('mlp.up_proj.weight', intermediateSize, hiddenSize);
    add('mlp.down_proj.weight', hiddenSize, intermediateSize);
  }
  table.set('model.norm.weight', [hiddenSize]);
  if (!config.tieEmbeddings) table.set('lm_head.weight', [vocabSize, hiddenSize]);
  return table;
}

export function countElements(shape: readonly number[]): number {
  return shape.reduce((product, axis) => product * axis, 1);
}

/** The number of weights; a tied head is not counted again. */
export function countParameters(config: DecoderConfig): number {
  let total = 0;
  for (const shape of expectedTensors(config).values()) total += countElements(shape);
  return total;
}

/** Buffers old checkpoints stored beside the weights; they follow from the config. */
const derivedBuffer = /\.rotary_emb\.inv_freq$/;

/** A folder may store the tied head a second time; the loader then compares it with the embedding. */
function hasSpareHead(weights: WeightFiles, config: DecoderConfig): boolean {
  return config.tieEmbeddings && weights.entries.has('lm_head.weight');
}

/** Missing, misshaped, wrongly typed and unexpected tensors, one line each; empty when the folder fits. */
export function listMismatches(weights: WeightFiles, config: DecoderConfig): string[] {
  const expected = new Map(expectedTensors(config));
  if (hasSpareHead(weights, config)) expected.set('lm_head.weight', [config.vocabSize, config.hiddenSize]);
  const problems: string[] = [];
  for (const [name, shape] of expected) {
    const found = weights.entries.get(name);
    if (found === undefined) problems.push(`${name}: missing, expected [${shape.join(',')}]`);
    else if (found.shape.join() !== shape.join()) {
      problems.push(`${name} in ${found.file.path}: expected [${shape.join(',')}], found [${found.shape.join(',')}]`);
    } else if (found.dtype === 'I32' || found.dtype === 'I64') {
      problems.push(`${name} in ${found.file.path}: expected F32, F16 or BF16, found ${found.dtype}`);
    }
  }
  for (const [name, { file, shape }] of weights.entries) {
    if (!expected.has(name) && !derivedBuffer.test(name)) {
      problems.push(`${name} in ${file.path}: unexpected, found [${shape.join(',')}]`);
    }
  }
  return problems;
}

const mostListed = 20;

export function checkWeights(weights: WeightFiles, config: DecoderConfig): void {
  const problems = listMismatches(weights, config);
  if (problems.length === 0) return;
  const listed = problems.slice(0, mostListed).join('\n  ');
  const more = problems.length > mostListed ? `\n  and ${problems.length - mostListed} more` : '';
  throw new UserError({
    call: `load ${weights.directory}`,
    expected: `the ${expectedTensors(config).size} tensors of ${config.architecture} with ${config.layers} layers`,
    found: `${problems.length} mismatches:\n  ${listed}${more}`,
  });
}

export interface LoadedWeight {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: 'f32' | 'bf16' | 'f16';
  /** float32 values, or the raw bits of bf16 or f16. */
  readonly data: Float32Array | Uint16Array;
}

/**
 * Checks the folder, then yields every expected tensor in the order of `expectedTensors`. The next ones are read meanwhile, and memory
 * is used again: the data of a tensor must be copied before the next is asked for. `as: 'float32'` widens exactly; `'stored'` keeps
 * 16-bit weights as bits. `finite`: it is known that all are finite, so that none has to be looked at; default: it is not.
 */
export async function* loadWeights(
  weights: WeightFiles,
  config: DecoderConfig,
  { as, finite = false }: { readonly as: 'float32' | 'stored'; readonly finite?: boolean },
): AsyncGenerator<LoadedWeight> {
  checkWeights(weights, config);
  if (hasSpareHead(weights, config)) await refuseDifferentHead(weights);
  for await (const { name, shape, data } of readAhead(weights, expectedTensors(config))) {
    const { file, dtype } = weights.entry(name);
    const bad = finite ? -1 : findNonFinite(data, dtype);
    if (bad >= 0) {
      const found = `${toFloat32(data, dtype)[bad]} at element ${bad} of [${shape.join(',')}]`;
      throw new UserError({ call: `load ${file.path}, tensor ${name}`, expected: 'finite weights', found });
    }
    if (data instanceof Uint16Array && as === 'stored') {
      yield { name, shape, dtype: dtype === 'BF16' ? 'bf16' : 'f16', data };
    } else yield { name, shape, dtype: 'f32', data: toFloat32(data, dtype) };
  }
}

interface StoredWeight {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: SafetensorsArray;
}

/** Tensors that are read while one is used. */
const mostAhead = 3;

/** The tensors of a table as stored, in rooms that are used in turn: memory that is new for each would have to be collected. */
async function* readAhead(weights: WeightFiles, table: TensorTable): AsyncGenerator<StoredWeight> {
  const rooms = Array.from({ length: mostAhead + 1 }, () => new ArrayBuffer(0));
  const reading: Promise<StoredWeight>[] = [];
  let begun = 0;
  const begin = (name: string, shape: readonly number[]): void => {
    const { file, start, end } = weights.entry(name);
    const room = begun++ % rooms.length;
    if (rooms[room].byteLength < end - start) rooms[room] = new ArrayBuffer(end - start);
    const read = file.read(name, rooms[room]).then((data) => ({ name, shape, data }));
    // A failure is told when its turn comes.
    read.catch(() => undefined);
    reading.push(read);
  };
  try {
    for (const [name, shape] of table) {
      begin(name, shape);
      if (reading.length <= mostAhead) continue;
      yield await reading[0];
      reading.shift();
    }
    for (const read of reading) yield await read;
  } finally {
    // Nothing is read any more when the files are closed.
    await Promise.allSettled(reading);
  }
}

async function refuseDifferentHead(weights: WeightFiles): Promise<void> {
  const head = weights.entry('lm_head.weight');
  const table = weights.entry('model.embed_tokens.weight');
  const complaint = new UserError({
    call: `load ${weights.directory}, tensor lm_head.weight`,
    expected: 'the same values as model.embed_tokens.weight, as tie_word_embeddings is true',
    found: 'other values',
    fix: 'Set tie_word_embeddings to false in config.json, or remove the tensor.',
  });
  if (head.dtype !== table.dtype) throw complaint;
  const pieces = table.file.readPieces(table.name);
  for await (const piece of head.file.readPieces(head.name)) {
    const other = await pieces.next();
    if (other.done || Buffer.compare(piece, other.value) !== 0) throw complaint;
  }
}
