/** A stored model against its stored outputs; a 16-bit folder without any against the float32 folder beside it. */
import { narrowFloats, randomStream, UserError, widenHalves } from '../base/index.ts';
import { basename, existsSync, join } from '../base/node/index.ts';
import { type Device, linear, readFloats, Scope, Tape } from '../engine/index.ts';
import {
  Decoder,
  generate,
  greedy,
  loadWeights,
  ModelFolder,
  packGroups,
  packRows,
  SafetensorsFile,
  scoreGroups,
} from '../model/index.ts';
import type { Checks } from './check.ts';

export const logitBound = 2e-4;
/** Rounding every weight to 8 significant bits moves logits by a few percent of the largest. */
const roundedLogitBound = 0.05;

export const openDecoder = async (scope: Scope, folder: ModelFolder): Promise<Decoder> =>
  Decoder.load(scope, folder.config, loadWeights(folder.weights, folder.config, { as: 'float32' }));

export async function verifyModel(device: Device, directory: string, check: Checks): Promise<string[]> {
  using scope = new Scope(device);
  await using folder = await ModelFolder.open(directory);
  await using stored = await StoredCase.open(directory, 'io.safetensors');
  const decoder = await openDecoder(scope, folder);
  const { rows, lengths } = await readRows(stored);
  if (stored.has('logits')) {
    const expected = await storedLogits(stored, lengths, decoder.config.vocabSize);
    check.absolute('logits', await computeLogits(scope, decoder, rows), expected, logitBound);
  }
  if (stored.has('token_logps')) await verifyTokenLogps(scope, decoder, stored, check);
  await verifyGreedy(decoder, stored, check);
  const absent = missingQuantities(stored);
  stored.ignore('input_ids', 'lengths');
  const notes = [...absent, ...stored.unread().map((tensor) => `not compared: ${tensor}`)];
  if (absent.length === 0) return notes;
  const isNarrow = [...folder.weights.entries.values()].every(({ dtype }) => dtype === 'BF16' || dtype === 'F16');
  const isRounded = isNarrow && (await verifyRounded(scope, decoder, folder, stored, check));
  if (!isRounded) check.fails('io.safetensors', notes.join('; '));
  return notes;
}

function missingQuantities(stored: StoredCase): string[] {
  const wanted = ['logits', 'token_logps'].filter((quantity) => !stored.has(quantity));
  if (greedyNames(stored).length === 0) wanted.push('greedy_0');
  return wanted.length === 0 ? [] : [`stores no ${wanted.join(', ')}`];
}

async function readRows(stored: StoredCase): Promise<{ rows: Int32Array[]; lengths: Int32Array }> {
  const [count, width] = stored.shape('input_ids');
  const lengths = stored.has('lengths') ? await stored.integers('lengths') : new Int32Array(count).fill(width);
  return { rows: await stored.integerRows('input_ids', lengths), lengths };
}

async function computeLogits(scope: Scope, decoder: Decoder, rows: readonly Int32Array[]): Promise<Float32Array> {
  using tape = new Tape(scope.device);
  const hidden = decoder.forward(tape, packRows(tape, decoder.config, rows));
  return readFloats(linear(tape, hidden, decoder.head));
}

async function storedLogits(stored: StoredCase, lengths: Int32Array, vocabulary: number): Promise<Float32Array> {
  const data = await stored.floats('logits');
  const width = stored.shape('logits')[1];
  const parts = Array.from(lengths, (length, row) =>
    data.subarray(row * width * vocabulary, (row * width + length) * vocabulary),
  );
  return joinRows(parts);
}

async function verifyTokenLogps(scope: Scope, decoder: Decoder, stored: StoredCase, check: Checks): Promise<void> {
  const { rows, lengths } = await readRows(stored);
  using tape = new Tape(scope.device);
  const groups = rows.map((row) => ({ prompt: row.subarray(0, 1), completions: [row.subarray(1)] }));
  const found = await readFloats(scoreGroups(tape, decoder, packGroups(tape, decoder.config, groups)));
  const shorter = lengths.map((length) => length - 1);
  check.absolute('token_logps', found, joinRows(await stored.floatRows('token_logps', shorter)), logitBound);
}

const greedyNames = (stored: StoredCase): string[] => stored.names.filter((name) => /^greedy_\d+$/.test(name)).sort();

/** `greedy_i` starts with a prefix of row i of `input_ids`, its prompt; the rest must be generated. */
async function verifyGreedy(decoder: Decoder, stored: StoredCase, check: Checks): Promise<void> {
  const { rows } = await readRows(stored);
  const cases = await Promise.all(
    greedyNames(stored).map(async (quantity) => {
      const tokens = await stored.integers(quantity);
      const row = rows[Number(quantity.slice('greedy_'.length))] ?? new Int32Array();
      const differs = tokens.findIndex((token, t) => token !== row[t]);
      return { quantity, tokens, promptTokens: differs };
    }),
  );
  for (const { quantity, tokens, promptTokens } of cases) {
    if (promptTokens <= 0) {
      check.fails(quantity, 'is not a prefix of its row of input_ids followed by more tokens');
      continue;
    }
    const together = cases.filter((other) => other.tokens.length - other.promptTokens === tokens.length - promptTokens);
    const requests = together.map((other, row) => ({
      prompt: other.tokens.slice(0, other.promptTokens),
      row,
      scale: 1,
    }));
    const settings = { ...greedy, maxNewTokens: tokens.length - promptTokens, stopTokens: [] };
    const all = await generate(decoder, requests, settings, { stream: randomStream(0, 'greedy') });
    const own = all[together.findIndex((other) => other.quantity === quantity)];
    check.exact(quantity, own.tokens, tokens.slice(promptTokens));
  }
}

/** Compares `name-bf16` and `name-f16` with `name`; false where there is no such folder. */
async function verifyRounded(
  scope: Scope,
  decoder: Decoder,
  folder: ModelFolder,
  stored: StoredCase,
  check: Checks,
): Promise<boolean> {
  const wide = folder.directory.replace(/-b?f(?:loat)?16$/, '');
  if (wide === folder.directory || !existsSync(join(wide, 'config.json'))) return false;
  await using wideFolder = await ModelFolder.open(wide);
  await using wideStored = await StoredCase.open(wide, 'io.safetensors');
  for (const { name: tensor, dtype, file } of folder.weights.entries.values()) {
    const source = await wideFolder.weights.entry(tensor).file.readFloat32(tensor);
    const kind = dtype === 'BF16' ? 'bf16' : 'f16';
    const rounded = widenHalves(narrowFloats(source, kind), kind);
    check.exact(`${tensor} as rounded`, await file.readFloat32(tensor), rounded);
  }
  const { rows, lengths } = await readRows(wideStored);
  const own = await stored.integerRows('input_ids', lengths);
  if (own.join('|') !== rows.join('|')) return true;
  const expected = await storedLogits(wideStored, lengths, decoder.config.vocabSize);
  check.relative(
    'logits, near those of float32',
    await computeLogits(scope, decoder, rows),
    expected,
    roundedLogitBound,
  );
  return true;
}

export class StoredCase implements AsyncDisposable {
  readonly #file: SafetensorsFile;
  readonly #read = new Set<string>();

  private constructor(file: SafetensorsFile) {
    this.#file = file;
  }

  static async open(directory: string, name: string): Promise<StoredCase> {
    return new StoredCase(await SafetensorsFile.open(join(directory, name)));
  }

  get names(): string[] {
    return [...this.#file.entries.keys()];
  }

  has(name: string): boolean {
    return this.#file.entries.has(name);
  }

  shape(name: string): readonly number[] {
    return this.#file.entry(name).shape;
  }

  async floats(name: string): Promise<Float32Array> {
    this.#read.add(name);
    return this.#file.readFloat32(name);
  }

  async integers(name: string): Promise<Int32Array> {
    this.#read.add(name);
    const { dtype } = this.#file.entry(name);
    if (dtype !== 'I32' && dtype !== 'I64') {
      throw new UserError({ call: `read ${this.#file.path}, tensor ${name}`, expected: 'I32 or I64', found: dtype });
    }
    return Int32Array.from(await this.#file.read(name), Number);
  }

  /** The first `lengths[row]` integers of each row of a tensor [rows, width]. */
  async integerRows(name: string, lengths: Int32Array): Promise<Int32Array[]> {
    const data = await this.integers(name);
    return sliceRows(data, this.#width(name, lengths), lengths);
  }

  async floatRows(name: string, lengths: Int32Array): Promise<Float32Array[]> {
    const data = await this.floats(name);
    return sliceRows(data, this.#width(name, lengths), lengths);
  }

  ignore(...names: readonly string[]): void {
    for (const name of names) this.#read.add(name);
  }

  unread(): string[] {
    return this.names.filter((name) => !this.#read.has(name)).map((name) => `${basename(this.#file.path)}: ${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }

  #width(name: string, lengths: Int32Array): number {
    const [rows, width, ...rest] = this.shape(name);
    const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
    if (rows === lengths.length && width >= longest && rest.length === 0) return width;
    throw new UserError({
      call: `read ${this.#file.path}, tensor ${name}`,
      expected: `[${lengths.length}, ${longest} or more]`,
      found: `[${this.shape(name).join(',')}]`,
    });
  }
}

const sliceRows = <T extends Int32Array | Float32Array>(data: T, width: number, lengths: Int32Array): T[] =>
  Array.from(lengths, (length, row) => data.slice(row * width, row * width + length) as T);

export const joinRows = (rows: readonly Float32Array[]): Float32Array =>
  Float32Array.from(rows.flatMap((row) => [...row]));
