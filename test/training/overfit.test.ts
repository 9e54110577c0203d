/** A 2-layer transformer with a split adapter on every linear layer learns a small batch by heart. */
import { expect, test } from 'vitest';
import {
  AdamW,
  type Device,
  readFloats,
  routeCoefficients,
  Scope,
  Tape,
  warmupCosine,
} from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
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
const rows = [0, 1, 2, 3].map((row) => Int32Array.from({ length: 9 + row }, (_, t) => (t * t * (row + 2) + row) % 37));
const steps = 60;

/** Routes differ by row: absorb, keep, route, absorb. */
async function lossCurve(device: Device): Promise<number[]> {
  using scope = new Scope(device);
  const decoder = await loadRandom(scope, config, { trainable: false, embeddingScale: 2 });
  const adapters = splitAdapters(scope, config, 4);
  const batch = nextTokenBatch(scope, config, rows);
  const routes = rows.flatMap((row, i) =>
    Array.from(row.subarray(1), () => (['absorb', 'keep', 'route'] as const)[i % 3]),
  );
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

test('reference', async () => {
  const t = performance.now();
  const curve = await lossCurve(createReferenceDevice());
  console.log(performance.now() - t, curve.map((x) => x.toFixed(4)).join(' '));
  expect(curve[0]).toBeGreaterThan(3);
  expect(curve[steps - 1]).toBeLessThan(0.1);
});
