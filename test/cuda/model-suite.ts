/** Checks of whole models on the cuda device: generation in and out of a batch, bf16 near float32, the adapter's start, repeatability. */
import { createAdapter, scaleGroups, scaleRows } from '../../src/adapters/index.ts';
import { randomStream } from '../../src/base/rng.ts';
import { AdamW, type Device, readFloats, Scope, sum, Tape } from '../../src/engine/index.ts';
import {
  Decoder,
  type GenerateOptions,
  type Generation,
  generate,
  loadWeights,
  ModelFolder,
  packGroups,
  scoreGroups,
} from '../../src/model/index.ts';
import type { Check } from '../device/suite.ts';
import { compareByNorm } from './rounded-suite.ts';

const settings = { temperature: 0.9, topK: 20, topP: 0.95, minP: 0.01, maxNewTokens: 16, maxPromptTokens: null };
const stopTokens = [5, 7, 11, 13, 17, 19, 23, 29, 31];
const prompts = [
  [3, 9, 1, 40, 12, 2, 8],
  [6, 6, 30, 4],
  [50, 21, 33, 14, 15],
].map((ids) => Int32Array.from(ids));

async function openModel(scope: Scope, directory: string): Promise<Decoder> {
  await using folder = await ModelFolder.open(directory);
  return await Decoder.load(scope, folder.config, loadWeights(folder.weights, folder.config, { as: 'stored' }));
}

function equality(name: string, quantity: string, found: unknown, expected: unknown): Check {
  const pass = JSON.stringify(found) === JSON.stringify(expected);
  return { case: name, quantity, maxAbs: pass ? 0 : 1, maxRel: pass ? 0 : 1, bound: 0, pass };
}

/** Checks that a row is the same alone, in a batch, and however seldom the host reads or the batch shrinks. */
export async function compareGeneration(device: Device, reference: Device, golden: string): Promise<Check[]> {
  const checks: Check[] = [];
  for (const name of ['qwen3', 'qwen2', 'llama']) {
    const run = async (
      on: Device,
      rows: readonly number[],
      options: Partial<GenerateOptions>,
    ): Promise<Generation[]> => {
      using scope = new Scope(on);
      const decoder = await openModel(scope, `${golden}/${name}`);
      const requests = rows.map((row) => ({ prompt: prompts[row % 3], row, scale: 1 }));
      const stream = randomStream(1, 'check', 3);
      return await generate(decoder, requests, { ...settings, stopTokens }, { stream, ...options });
    };
    const rows = Array.from({ length: 9 }, (_, i) => i);
    const tokens = (all: readonly Generation[]) => all.map((each) => [[...each.tokens], each.finish]);
    const exact = (all: readonly Generation[]) =>
      all.map((each) => [[...each.tokens], [...each.logps], [...each.fullLogps]]);
    const batch = await run(device, rows, {});
    const alone: Generation[] = [];
    for (const row of rows) alone.push(...(await run(device, [row], {})));
    checks.push(
      equality(name, 'sampled tokens as on the reference', tokens(batch), tokens(await run(reference, rows, {}))),
      equality(name, 'a row alone, bytes', exact(alone), exact(batch)),
      equality(name, 'looked at every 5 tokens, bytes', exact(await run(device, rows, { readEvery: 5 })), exact(batch)),
      equality(name, 'batches in steps of 4, bytes', exact(await run(device, rows, { rowStep: 4 })), exact(batch)),
    );
  }
  return checks;
}

interface Pass {
  readonly logps: Float32Array;
  readonly gradients: Float32Array[];
}

const groups = prompts.map((prompt) => ({ prompt, completions: prompts.map((ids) => ids.map((id) => (id * 3) % 60)) }));

/** Scores groups with an adapter (moved from its start when `moved`) and takes the gradient of their sum. */
async function adaptedPass(device: Device, directory: string, moved: boolean, adapted = true): Promise<Pass> {
  using scope = new Scope(device);
  const decoder = await openModel(scope, directory);
  const adapter = await createAdapter(scope, decoder, { family: 'lora', rank: 4, seed: 1 });
  if (moved) {
    for (const { name, value } of adapter.parameters) {
      const data = await readFloats(value);
      const stream = randomStream(5, name);
      device.write(
        value,
        data.map((x, i) => x + 0.02 * stream.normalAt(i)),
      );
    }
  }
  using optimiser = new AdamW(adapter.parameters);
  using tape = new Tape(device, { learn: optimiser.learn });
  const packed = packGroups(scope, decoder.config, groups);
  const coefficients = scaleGroups(scope, packed, [1, 0.5, 0]);
  const options = adapted ? { project: adapter.project({ coefficients }) } : {};
  const logp = scoreGroups(tape, decoder, packed, options);
  const logps = await readFloats(logp);
  if (!adapted) return { logps, gradients: [] };
  tape.backward(sum(tape, logp));
  const gradients: Float32Array[] = [];
  for (const { gradient } of adapter.parameters) gradients.push(await readFloats(gradient));
  return { logps, gradients };
}

const flat = (parts: readonly Float32Array[]): number[] => parts.flatMap((part) => [...part]);

/** Checks float32 against the reference, bf16 near it, that an adapter at its start changes no bit, and that bytes repeat. */
export async function compareModels(
  exact: Device,
  rounded: Device,
  reference: Device,
  golden: string,
): Promise<Check[]> {
  const directory = `${golden}/qwen3`;
  const expected = await adaptedPass(reference, directory, true);
  const [first, second] = [await adaptedPass(exact, directory, true), await adaptedPass(exact, directory, true)];
  const [near, again] = [await adaptedPass(rounded, directory, true), await adaptedPass(rounded, directory, true)];
  const [start, base] = [
    await adaptedPass(rounded, directory, false),
    await adaptedPass(rounded, directory, false, false),
  ];
  const probabilities = (logps: Float32Array): Float32Array => logps.map(Math.exp);
  return [
    compareByNorm('qwen3 f32', 'log-probabilities', first.logps, expected.logps, 2e-5),
    compareByNorm('qwen3 f32', 'gradients', flat(first.gradients), flat(expected.gradients), 1e-4),
    equality('qwen3 f32', 'the same bytes twice', flat(first.gradients), flat(second.gradients)),
    compareByNorm('qwen3 bf16', 'log-probabilities', near.logps, expected.logps, 2e-2),
    compareByNorm('qwen3 bf16', 'probabilities', probabilities(near.logps), probabilities(expected.logps), 0.1),
    compareByNorm('qwen3 bf16', 'gradients', flat(near.gradients), flat(expected.gradients), 0.1),
    equality('qwen3 bf16', 'the same bytes twice', flat(near.gradients), flat(again.gradients)),
    equality('qwen3 bf16', 'an adapter at its start changes no bit', [...start.logps], [...base.logps]),
  ];
}

/** Checks bf16 decoding with an adapter: cached decoding agrees with packed scoring, and bytes repeat. */
export async function compareRoundedDecoding(device: Device, golden: string): Promise<Check[]> {
  using scope = new Scope(device);
  const decoder = await openModel(scope, `${golden}/qwen3`);
  const adapter = await createAdapter(scope, decoder, { family: 'lora', rank: 4, seed: 1 });
  const requests = Array.from({ length: 12 }, (_, row) => ({ prompt: prompts[row % 3], row, scale: row % 2 }));
  const project = (inner: Scope, scales: Float32Array) =>
    adapter.project({ coefficients: scaleRows(inner, [...scales]) });
  const options = { stream: randomStream(1, 'check', 4), project, readEvery: 4, rowStep: 4 };
  const run = () => generate(decoder, requests, { ...settings, topK: 0, topP: 1, minP: 0, stopTokens: [] }, options);
  const [first, second] = [await run(), await run()];
  using tape = new Tape(device);
  const rollouts = requests.map(({ prompt }, i) => ({ prompt, completions: [first[i].tokens] }));
  const packed = packGroups(scope, decoder.config, rollouts);
  const coefficients = scaleGroups(
    scope,
    packed,
    requests.map(({ scale }) => scale),
  );
  const scored = await readFloats(scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) }));
  const drawn = first.flatMap(({ fullLogps }) => [...fullLogps]);
  const bytes = (all: readonly Generation[]) => all.map((each) => [[...each.tokens], [...each.fullLogps]]);
  return [
    equality('bf16 decoding', 'the same bytes twice', bytes(first), bytes(second)),
    compareByNorm('bf16 decoding', 'log-probabilities as scored', drawn, scored, 2e-2),
  ];
}
