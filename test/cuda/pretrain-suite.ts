/**
 * Pre-training on the cuda device in both number formats: a tiny shape learns in bf16 as it does in float32, but for rounding, and twice
 * the same bytes. Heads of 64 and widths above 256 take the kernels that the larger shapes take.
 */
import { floatToBfloat16 } from '../../src/base/half.ts';
import { type Device, readFloats, Scope } from '../../src/engine/index.ts';
import { type MicroRecipe, microRecipe, pretrainMicro } from '../../src/pretrain/index.ts';
import type { Check } from '../device/suite.ts';

const shapes = [
  { name: 'pre-training 64 wide', hiddenSize: 64, layers: 2, heads: 2 },
  { name: 'pre-training 320 wide', hiddenSize: 320, layers: 2, heads: 5 },
];
const learning = { steps: 20, documentsPerStep: 16, documentsPerPass: 8, warmupSteps: 4 };
/** Most nats per token between the losses of a step; on one processor, rounding alone makes 0.002 in 20 steps of the first shape. */
const band = 0.01;
/** Least nats per token that 20 steps take off the loss; a model whose copies are never made anew takes off none. */
const leastGain = 0.5;

interface Trained {
  readonly losses: readonly number[];
  readonly weights: Buffer;
}

async function trainOn(device: Device, recipe: MicroRecipe): Promise<Trained> {
  const losses: number[] = [];
  const { tensors } = await pretrainMicro(device, recipe, ({ loss }) => {
    if (loss !== null) losses.push(loss);
  });
  const weights = await Promise.all(tensors.map(async ({ data }) => Buffer.from((await data()).buffer)));
  return { losses, weights: Buffer.concat(weights) };
}

const check = (name: string, quantity: string, found: number, bound: number): Check => ({
  ...{ case: name, quantity, maxAbs: found, maxRel: found, bound },
  pass: found <= bound,
});

export async function comparePretraining(exact: Device, rounded: Device): Promise<Check[]> {
  const checks: Check[] = [await addRoundedRows(rounded)];
  for (const { name, ...shape } of shapes) {
    const recipe = { ...microRecipe, ...shape, ...learning };
    const halves: MicroRecipe = { ...recipe, precision: 'bf16' };
    const expected = await trainOn(exact, recipe);
    const [found, again] = [await trainOn(rounded, halves), await trainOn(rounded, halves)];
    const apart = found.losses.map((loss, i) => Math.abs(loss - expected.losses[i]));
    const gain = found.losses[0] - (found.losses.at(-1) ?? Number.NaN);
    checks.push(
      check(name, `nats from float32 in ${apart.length} steps`, Math.max(...apart), band),
      check(name, 'steps that are missing', learning.steps - found.losses.length, 0),
      check(name, `nats short of a gain of ${leastGain}`, gain >= leastGain ? 0 : 1, 0),
      check(name, 'bytes that two runs in bf16 do not share', found.weights.equals(again.weights) ? 0 : 1, 0),
      check(name, 'weights that are those of float32', found.weights.equals(expected.weights) ? 1 : 0, 0),
    );
  }
  return checks;
}

/** Rows of bf16 added to a table of float32, as the gradient of an embedding: whole numbers, so that no sum is rounded. */
async function addRoundedRows(device: Device): Promise<Check> {
  using scope = new Scope(device);
  const [rows, width, entries] = [600, 72, 7];
  const index = Int32Array.from({ length: rows }, (_, i) => (i * i) % entries);
  const values = Float32Array.from({ length: rows * width }, (_, i) => (i % 17) - 8);
  const expected = new Float32Array(entries * width).fill(0.25);
  values.forEach((value, i) => {
    expected[index[Math.floor(i / width)] * width + (i % width)] += value;
  });
  const out = scope.from(new Float32Array(entries * width).fill(0.25), [entries, width], 'table');
  const bits = Uint16Array.from(values, floatToBfloat16);
  const x = scope.from(bits, [rows, width], 'rows', 'bf16');
  device.kernels.scatterAddRows(out, x, scope.from(index, [rows], 'index'));
  const wrong = (await readFloats(out)).filter((value, i) => value !== expected[i]).length;
  return check('scatterAddRows', 'numbers of a float32 table that differ', wrong, 0);
}
