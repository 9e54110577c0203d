/**
 * Compares a stored model with its stored outputs: logits of right-padded rows, log p of every next token (through packed
 * scoring) and greedy continuations (through the key/value cache). A 16-bit folder that stores no outputs of its own is compared
 * with the float32 folder beside it: every weight must be the rounded one, and the logits must be near.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { narrowFloats, randomStream, widenHalves } from '../base/index.ts';
import { type Device, linear, readFloats, Scope, Tape } from '../engine/index.ts';
import {
  Decoder,
  generate,
  greedy,
  loadWeights,
  ModelFolder,
  packGroups,
  packRows,
  scoreGroups,
} from '../model/index.ts';
import { type Check, compareAbsolute, compareExact, compareRelative, failedCheck } from './check.ts';
import { joinRows, missingFiles, StoredCase } from './parity-files.ts';

export const logitBound = 2e-4;
/** Rounding every weight to 8 significant bits moves logits by a few percent of the largest. */
const roundedLogitBound = 0.05;

export interface CaseReport {
  readonly checks: Check[];
  /** Files and tensors that nothing was compared with, and quantities that the case does not store. */
  readonly notes: string[];
}

export async function openDecoder(scope: Scope, folder: ModelFolder): Promise<Decoder> {
  return Decoder.load(scope, folder.config, loadWeights(folder.weights, folder.config, { as: 'float32' }));
}

export async function verifyModel(device: Device, directory: string, name: string): Promise<CaseReport> {
  const missing = missingFiles(directory, ['io.safetensors']);
  if (missing.length > 0) return { checks: missing.map((file) => failedCheck(name, file, 'no such file')), notes: [] };
  using scope = new Scope(device);
  await using folder = await ModelFolder.open(directory);
  await using stored = await StoredCase.open(directory, 'io.safetensors');
  const decoder = await openDecoder(scope, folder);
  const checks = [
    ...(await verifyLogits(scope, decoder, stored, name)),
    ...(await verifyTokenLogps(scope, decoder, stored, name)),
    ...(await verifyGreedy(decoder, stored, name)),
  ];
  const notes = [...missingQuantities(stored), ...unreadAfter(stored)];
  if (notes.some((note) => note.startsWith('stores no'))) {
    const narrow = [...folder.weights.entries.values()].every(({ dtype }) => dtype === 'BF16' || dtype === 'F16');
    const rounded = narrow ? await verifyRounded(scope, decoder, folder, stored, name) : [];
    if (rounded.length > 0) checks.push(...rounded);
    else checks.push(failedCheck(name, 'io.safetensors', notes.join('; ')));
  }
  return { checks, notes };
}

function missingQuantities(stored: StoredCase): string[] {
  const wanted = ['logits', 'token_logps'].filter((quantity) => !stored.has(quantity));
  if (greedyNames(stored).length === 0) wanted.push('greedy_0');
  return wanted.length === 0 ? [] : [`stores no ${wanted.join(', ')}`];
}

function unreadAfter(stored: StoredCase): string[] {
  stored.ignore('input_ids', 'lengths');
  return stored.unread().map((tensor) => `not compared: ${tensor}`);
}

async function readRows(stored: StoredCase): Promise<{ rows: Int32Array[]; lengths: Int32Array }> {
  const [count, width] = stored.shape('input_ids');
  const lengths = stored.has('lengths') ? await stored.integers('lengths') : new Int32Array(count).fill(width);
  return { rows: await stored.integerRows('input_ids', lengths), lengths };
}

/** Logits of all rows, as one array [Σ lengths, V]. */
async function computeLogits(scope: Scope, decoder: Decoder, rows: readonly Int32Array[]): Promise<Float32Array> {
  using tape = new Tape(scope.device);
  const hidden = decoder.forward(tape, packRows(tape, decoder.config, rows));
  return readFloats(linear(tape, hidden, decoder.head));
}

/** Stored logits [rows, width, V] without the padding. */
async function storedLogits(stored: StoredCase, lengths: Int32Array, vocabulary: number): Promise<Float32Array> {
  const data = await stored.floats('logits');
  const width = stored.shape('logits')[1];
  const parts = Array.from(lengths, (length, row) =>
    data.subarray(row * width * vocabulary, (row * width + length) * vocabulary),
  );
  return joinRows(parts);
}

async function verifyLogits(scope: Scope, decoder: Decoder, stored: StoredCase, name: string): Promise<Check[]> {
  if (!stored.has('logits')) return [];
  const { rows, lengths } = await readRows(stored);
  const expected = await storedLogits(stored, lengths, decoder.config.vocabSize);
  return [compareAbsolute(name, 'logits', await computeLogits(scope, decoder, rows), expected, logitBound)];
}

async function verifyTokenLogps(scope: Scope, decoder: Decoder, stored: StoredCase, name: string): Promise<Check[]> {
  if (!stored.has('token_logps')) return [];
  const { rows, lengths } = await readRows(stored);
  using tape = new Tape(scope.device);
  const groups = rows.map((row) => ({ prompt: row.subarray(0, 1), completions: [row.subarray(1)] }));
  const found = await readFloats(scoreGroups(tape, decoder, packGroups(tape, decoder.config, groups)));
  const expected = await stored.floatRows(
    'token_logps',
    lengths.map((length) => length - 1),
  );
  return [compareAbsolute(name, 'token_logps', found, joinRows(expected), logitBound)];
}

function greedyNames(stored: StoredCase): string[] {
  return stored.names.filter((name) => /^greedy_\d+$/.test(name)).sort();
}

/** `greedy_i` starts with a prefix of row i of `input_ids`, its prompt; the rest must be generated. */
async function verifyGreedy(decoder: Decoder, stored: StoredCase, name: string): Promise<Check[]> {
  const { rows } = await readRows(stored);
  const cases = await Promise.all(
    greedyNames(stored).map(async (quantity) => {
      const tokens = await stored.integers(quantity);
      const row = rows[Number(quantity.slice('greedy_'.length))] ?? new Int32Array();
      const differs = tokens.findIndex((token, t) => token !== row[t]);
      return { quantity, tokens, promptTokens: differs };
    }),
  );
  const checks: Check[] = [];
  for (const { quantity, tokens, promptTokens } of cases) {
    if (promptTokens <= 0) {
      checks.push(failedCheck(name, quantity, 'is not a prefix of its row of input_ids followed by more tokens'));
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
    checks.push(compareExact(name, quantity, own.tokens, tokens.slice(promptTokens)));
  }
  return checks;
}

/** Compares `name-bf16` and `name-f16` with `name`. Empty when there is no such folder. */
async function verifyRounded(
  scope: Scope,
  decoder: Decoder,
  folder: ModelFolder,
  stored: StoredCase,
  name: string,
): Promise<Check[]> {
  const wide = join(dirname(folder.directory), basename(folder.directory).replace(/-b?f(?:loat)?16$/, ''));
  if (wide === folder.directory || !existsSync(join(wide, 'config.json'))) return [];
  await using wideFolder = await ModelFolder.open(wide);
  await using wideStored = await StoredCase.open(wide, 'io.safetensors');
  const checks: Check[] = [];
  for (const { name: tensor, dtype, file } of folder.weights.entries.values()) {
    if (dtype !== 'BF16' && dtype !== 'F16') continue;
    const source = await wideFolder.weights.entry(tensor).file.readFloat32(tensor);
    const found = await file.readFloat32(tensor);
    const kind = dtype === 'BF16' ? 'bf16' : 'f16';
    checks.push(compareExact(name, `${tensor} as rounded`, found, widenHalves(narrowFloats(source, kind), kind)));
  }
  const { rows, lengths } = await readRows(wideStored);
  const own = await stored.integerRows('input_ids', lengths);
  if (JSON.stringify(own.map((row) => [...row])) !== JSON.stringify(rows.map((row) => [...row]))) return checks;
  const expected = await storedLogits(wideStored, lengths, decoder.config.vocabSize);
  const found = await computeLogits(scope, decoder, rows);
  checks.push(compareRelative(name, 'logits, near those of float32', found, expected, roundedLogitBound));
  return checks;
}
