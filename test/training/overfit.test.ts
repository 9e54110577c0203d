/** A 2-layer transformer with a split adapter on every linear layer learns a small batch by heart, alike on every device. */
import { describe, expect, test } from 'vitest';
import { type Route, routeCoefficients } from '../../src/adapters/index.ts';
import { AdamW, type Device, readFloats, Scope, Tape, warmupCosine } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { findVariants } from '../device/variants.ts';
import { loadRandom, nextTokenBatch, nextTokenLoss, qwen3Like, splitAdapters } from './model.ts';

const config = qwen3Like({
  vocabSize: 37,
  hiddenSize: 32,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 10,
  intermediateSize: 56,
  maxPositions: 16,
});
/** The batch: four rows of 9 to 12 tokens, each with a route of its own. */
const rows = [0, 1, 2, 3].map((row) => Int32Array.from({ length: 9 + row }, (_, t) => (t * t * (row + 2) + row) % 37));
const routeOfRow: readonly Route[] = ['absorb', 'keep', 'route', 'absorb'];
const steps = 60;
const learnedLoss = 0.05;
const sameCurve = 1e-4;

async function lossCurve(device: Device): Promise<number[]> {
  using scope = new Scope(device);
  const decoder = await loadRandom(scope, config, { trainable: false, embeddingScale: 2 });
  const adapters = splitAdapters(scope, config, 4);
  const batch = nextTokenBatch(scope, config, rows);
  const routes = rows.flatMap((row, i) => Array.from(row.subarray(1), () => routeOfRow[i]));
  const project = adapters.project(routeCoefficients(scope, routes, 'branch'));
  using optimiser = new AdamW(adapters.parameters);
  const curve: number[] = [];
  for (let step = 0; step < steps; step++) {
    using tape = new Tape(device, { learn: optimiser.learn });
    optimiser.zeroGradients();
    const loss = nextTokenLoss(tape, decoder, batch, { project });
    tape.backward(loss);
    const learningRate = 0.03 * warmupCosine(step, 5, steps);
    optimiser.update(step + 1, { learningRate, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0.01, maxNorm: 1 });
    curve.push((await readFloats(loss))[0]);
  }
  return curve;
}

describe('overfitting a batch', async () => {
  const expected = await lossCurve(createReferenceDevice());
  const { available, missing } = await findVariants();
  for (const line of missing) console.warn(`wasm variant NOT tested on Node ${process.version}: ${line}`);

  test('reference learns it', () => {
    expect(expected[0]).toBeGreaterThan(Math.log(config.vocabSize));
    expect(expected[steps - 1]).toBeLessThan(learnedLoss);
  });

  test.each(available)('wasm %s follows the same curve', async (variant) => {
    using device = await createWasmDevice({ variant, threads: 2, arenaBytes: 2 ** 27 });
    const found = await lossCurve(device);
    const apart = found.map((loss, step) => Math.abs(loss - expected[step]));
    expect(Math.max(...apart)).toBeLessThanOrEqual(sameCurve);
  });
});
