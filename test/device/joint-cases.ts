/** The kernels of joined decoding steps, for devices that have them: to be compared with the reference. */
import type { Tensor } from '../../src/engine/index.ts';
import { normal } from './case.ts';
import type { KernelCase } from './kernel-cases.ts';

type Run = KernelCase['run'];
type Filled = (name: string, ...shape: number[]) => Tensor;

const turnSizes = [
  [1, 4, 2, 8],
  [5, 3, 1, 16],
  [9, 8, 2, 128],
] as const;

const filler =
  (make: Parameters<Run>[1]): Filled =>
  (name, ...shape) =>
    make.from(normal(name, shape), shape);

function turnCase(sizes: (typeof turnSizes)[number], changed: boolean): Run {
  const [tokens, heads, keyHeads, size] = sizes;
  return (kernels, make) => {
    const filled = filler(make);
    const width = (heads + 2 * keyHeads) * size;
    const [base, change] = [filled('base', tokens, width), changed ? filled('change', tokens, width) : null];
    const [keys, values] = [filled('keys', 50, keyHeads, size), filled('values', 50, keyHeads, size)];
    const [weights, table] = [[filled('qn', size), filled('kn', size)] as const, filled('angles', 20, size)];
    const each = (by: number, most: number): Tensor =>
      make.from(
        Int32Array.from({ length: tokens }, (_, i) => (by * i + 3) % most),
        [tokens],
      );
    const [positions, slots, out] = [each(7, 20), each(11, 50), filled('out', tokens, heads, size)];
    kernels.jointTurn?.(out, [keys, values], base, change, weights, 1e-5, positions, table, slots);
    return [out, keys, values];
  };
}

function normCase(columns: number, changed: boolean): Run {
  return (kernels, make) => {
    const filled = filler(make);
    const [base, change] = [filled('base', 3, columns), changed ? filled('change', 3, columns) : null];
    const [out, weight] = [filled('out', 3, columns), filled('weight', columns)];
    kernels.jointNorm?.(out, base, change, weight, 1e-5);
    return [out, base];
  };
}

function swigluCase(columns: number, changed: boolean): Run {
  return (kernels, make) => {
    const filled = filler(make);
    const [base, change] = [filled('base', 5, 2 * columns), changed ? filled('change', 5, 2 * columns) : null];
    const out = filled('out', 5, columns);
    kernels.jointSwiglu?.(out, base, change);
    return [out];
  };
}

export function jointCases(): KernelCase[] {
  const named = (name: string, changed: boolean, run: Run): KernelCase => ({
    name: `${name}${changed ? ' with a change' : ''}`,
    exact: false,
    run,
  });
  return [false, true].flatMap((changed) => [
    ...turnSizes.map((sizes) => named(`jointTurn ${sizes.join('×')}`, changed, turnCase(sizes, changed))),
    ...[64, 1024, 2560].map((columns) => named(`jointNorm 3×${columns}`, changed, normCase(columns, changed))),
    ...[8, 96, 1000].map((columns) => named(`jointSwiglu 5×${columns}`, changed, swigluCase(columns, changed))),
  ]);
}
