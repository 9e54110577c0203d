/**
 * Steps of a few rows, as in decoding, in fewer kernels, for devices that can (`jointFits`): outputs of layers that share an input are columns
 * of one matrix, and what adapters change stands beside it until the op that reads them adds the two. Nothing here has a gradient.
 */
import { DeviceError, ShapeError } from '../../base/index.ts';
import type { JointAdapters, Kernels } from '../kernels.ts';
import type { Tape } from '../tape.ts';
import { describeTensor, type Tensor } from '../tensor.ts';
import { expectFloats, expectShape, expectTensor } from './checks.ts';
import type { SplitAdapter } from './split-adapter.ts';
import type { Store, Turns } from './store.ts';

/** A matrix, and what is still to be added to it. */
export interface Sum {
  readonly base: Tensor;
  readonly change: Tensor | null;
}

/** Adapters of all layers that share an input, and the coefficients [T, 2] of their blocks. */
export interface JointBlocks {
  readonly adapters: readonly SplitAdapter[];
  readonly coefficients: Tensor;
}

function jointAdapters(blocks: JointBlocks | null): JointAdapters | null {
  if (blocks === null) return null;
  const { adapters, coefficients } = blocks;
  const [downs, ups] = [adapters.map(({ down }) => down), adapters.map(({ up }) => up)];
  return { downs, ups, coefficients, rank: adapters[0].rank };
}

type Joint = 'jointProducts' | 'jointNorm' | 'jointSwiglu' | 'jointTurn';

function kernelsOf({ device }: Tape): Required<Pick<Kernels, Joint>> {
  const { jointProducts, jointNorm: norm, jointSwiglu: gate, jointTurn: turn } = device.kernels;
  if (jointProducts !== undefined && norm !== undefined && gate !== undefined && turn !== undefined) {
    return { jointProducts, jointNorm: norm, jointSwiglu: gate, jointTurn: turn };
  }
  throw new DeviceError({ call: 'joint op', expected: 'a device whose jointFits said yes', found: device.name });
}

/** Whether these layers can be joined for this many rows; heads have `headSize` columns. */
export function jointFits(
  tape: Tape,
  rows: number,
  headSize: number,
  weights: readonly Tensor[],
  blocks: JointBlocks | null,
): boolean {
  const { jointFits: fits } = tape.device.kernels;
  return fits !== undefined && !tape.recording && fits(rows, headSize, weights, jointAdapters(blocks)) === true;
}

function expectSum(tape: Tape, call: string, { base, change }: Sum): void {
  expectFloats(tape, call, base, ...(change === null ? [] : [change]));
  expectShape(call, base, [-1, -1]);
  if (change !== null) expectShape(`${call} change`, change, base.shape);
}

/** x [T, C] through weights [Nᵢ, C], side by side: [T, ΣN]. Added to `onto` [T, ΣN], where given. */
export function jointLinears(
  tape: Tape,
  x: Tensor,
  weights: readonly Tensor[],
  blocks: JointBlocks | null,
  onto: Tensor | null,
): Sum {
  expectFloats(tape, 'jointLinears', x, ...weights, ...(onto === null ? [] : [onto]));
  expectShape('jointLinears', x, [-1, -1]);
  const [rows, inputs] = x.shape;
  for (const weight of weights) expectShape('jointLinears weight', weight, [-1, inputs]);
  const shape = [rows, weights.reduce((sum, weight) => sum + weight.shape[0], 0)];
  if (onto !== null) expectShape('jointLinears onto', onto, shape);
  if (blocks !== null) expectBlocks(tape, x, weights, blocks);
  const adapters = jointAdapters(blocks);
  const base = tape.empty(shape, 'joint products', x.dtype);
  const change = adapters === null ? null : tape.empty(shape, 'joint changes', x.dtype);
  const depths = adapters === null ? [] : adapters.downs.map((down) => [rows, down.shape[0]]);
  const hs = adapters === null ? [] : tape.stack(depths, 'bottleneck', x.dtype);
  kernelsOf(tape).jointProducts(base, change, onto, x, weights, hs, adapters);
  return { base, change };
}

function expectBlocks(
  tape: Tape,
  x: Tensor,
  weights: readonly Tensor[],
  { adapters, coefficients }: JointBlocks,
): void {
  expectTensor(tape, 'jointLinears coefficients', 'f32', coefficients);
  expectShape('jointLinears coefficients', coefficients, [x.shape[0], 2]);
  adapters.forEach(({ down, up }, i) => {
    expectFloats(tape, 'jointLinears', x, down, up);
    expectShape('jointLinears down', down, [-1, x.shape[1]]);
    expectShape('jointLinears up', up, [down.shape[0], weights[i].shape[0]]);
  });
}

/** RMSNorm of a sum [T, C]; its base becomes the sum. */
export function jointNorm(tape: Tape, sum: Sum, weight: Tensor, epsilon: number): Tensor {
  const { base, change } = sum;
  expectSum(tape, 'jointNorm', sum);
  expectFloats(tape, 'jointNorm', base, weight);
  expectShape('jointNorm weight', weight, [base.shape[1]]);
  const out = tape.empty(base.shape, 'jointNorm', base.dtype);
  kernelsOf(tape).jointNorm(out, base, change, weight, epsilon);
  return out;
}

/** Gates and what they weight, side by side [T, 2N] → [T, N]. */
export function jointSwiglu(tape: Tape, sum: Sum): Tensor {
  const { base, change } = sum;
  expectSum(tape, 'jointSwiglu', sum);
  const [rows, columns] = base.shape;
  if (columns % 2 !== 0) {
    throw new ShapeError({ call: 'jointSwiglu', expected: 'an even number of columns', found: describeTensor(base) });
  }
  const out = tape.empty([rows, columns / 2], 'jointSwiglu', base.dtype);
  kernelsOf(tape).jointSwiglu(out, base, change);
  return out;
}

/** Queries, keys and values side by side [T, (H + 2K) · D]: keys and values are stored; returns the queries [T, H, D], normed and turned. */
export function jointTurn(
  tape: Tape,
  sum: Sum,
  { positions, table, norms }: Turns & { readonly norms: NonNullable<Turns['norms']> },
  { keys, values, slots }: Store,
): Tensor {
  const { base, change } = sum;
  expectSum(tape, 'jointTurn', sum);
  expectFloats(tape, 'jointTurn', base, keys, values, norms.q, norms.k);
  expectTensor(tape, 'jointTurn', 'i32', positions, slots);
  expectTensor(tape, 'jointTurn table', 'f32', table);
  expectShape('jointTurn keys', keys, [-1, -1, -1]);
  expectShape('jointTurn values', values, keys.shape);
  const [tokens, columns] = base.shape;
  const [, keyHeads, size] = keys.shape;
  for (const each of [positions, slots]) expectShape('jointTurn', each, [tokens]);
  for (const norm of [norms.q, norms.k]) expectShape('jointTurn norm', norm, [size]);
  expectShape('jointTurn table', table, [-1, size]);
  const heads = columns / size - 2 * keyHeads;
  if (!Number.isInteger(heads) || heads < 1) {
    const expected = `queries, ${keyHeads} keys and ${keyHeads} values of ${size} columns each`;
    throw new ShapeError({ call: 'jointTurn', expected, found: describeTensor(base) });
  }
  const out = tape.empty([tokens, heads, size], 'jointTurn', base.dtype);
  const weights = [norms.q, norms.k] as const;
  const { epsilon } = norms;
  kernelsOf(tape).jointTurn(out, [keys, values], base, change, weights, epsilon, positions, table, slots);
  return out;
}
