/** A thousand training steps take no more memory than the first few. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { AdamW, type Device, Scope, Tape } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { allWeights, loadRandom, nextTokenBatch, nextTokenLoss, qwen3Like } from './model.ts';

const config = qwen3Like({
  vocabSize: 11,
  hiddenSize: 8,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 4,
  intermediateSize: 12,
  maxPositions: 8,
});
const steps = 1000;
/** Two rows of 2 to 7 tokens, whose lengths change from step to step. */
const rowsOf = (step: number): Int32Array[] =>
  [0, 1].map((row) => Int32Array.from({ length: 2 + ((step + 3 * row) % 6) }, (_, t) => (t * step + row) % 11));

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Memory in use half way, when everything is compiled, and after each tenth of the steps that follow. */
interface Marks {
  readonly used: number[];
  readonly peak: number[];
  readonly heapBytes: number[];
  readonly residentBytes: number[];
}

async function train(device: Device): Promise<Marks> {
  using scope = new Scope(device);
  const decoder = await loadRandom(scope, config, { trainable: true });
  using optimiser = new AdamW(allWeights(scope, decoder));
  const marks: Marks = { used: [], peak: [], heapBytes: [], residentBytes: [] };
  for (let step = 0; step < steps; step++) {
    {
      using inputs = new Scope(device);
      using tape = new Tape(device, { learn: optimiser.learn });
      optimiser.zeroGradients();
      tape.backward(nextTokenLoss(tape, decoder, nextTokenBatch(inputs, config, rowsOf(step))));
      optimiser.update(step + 1, { learningRate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0, maxNorm: 1 });
    }
    if (step + 1 >= steps / 2 && (step + 1) % (steps / 10) === 0) {
      collectGarbage();
      const { heapUsed, external, rss } = process.memoryUsage();
      marks.used.push(device.arena.used);
      marks.peak.push(device.arena.peak);
      marks.heapBytes.push(heapUsed + external);
      marks.residentBytes.push(rss);
    }
  }
  return marks;
}

/** The most that the heap may grow from the first mark to the last: one kilobyte per step, less than the handles of ten tensors. */
const mostHeapGrowth = 500 * 1024;
/** The most that the process may grow from each mark to the next: a leak is in all of them, what the JavaScript engine takes now and then is not. */
const mostResidentGrowth = 10 * 2 ** 20;
const growths = (marks: readonly number[]): number[] => marks.slice(1).map((mark, i) => mark - marks[i]);

const devices: Readonly<Record<string, () => Promise<Device>>> = {
  reference: async () => createReferenceDevice({ arenaBytes: 2 ** 22 }),
  wasm: () => createWasmDevice({ threads: 2, arenaBytes: 2 ** 27 }),
};

test.each(Object.keys(devices))(`${steps} steps on %s`, async (name) => {
  using device = await devices[name]();
  const { used, peak, heapBytes, residentBytes } = await train(device);
  expect(new Set(used).size).toBe(1);
  expect(new Set(peak).size).toBe(1);
  expect(heapBytes[heapBytes.length - 1] - heapBytes[0]).toBeLessThan(mostHeapGrowth);
  expect(Math.min(...growths(residentBytes))).toBeLessThan(mostResidentGrowth);
  expect(device.arena.used).toBe(0);
});
