/** The kernels of joined decoding steps, and the same by plain kernels where a device has none: to be compared with the reference. */
import type { Device, Shape, Tensor } from '../../src/engine/index.ts';
import { normal } from './case.ts';
import type { KernelCase } from './kernel-cases.ts';

type Filled = (name: string, ...shape: number[]) => Tensor;
type Kernels = Device['kernels'];

const turnSizes = [
  [1, 4, 2, 8],
  [5, 3, 1, 16],
  [9, 8, 2, 128],
] as const;

function addInto(kernels: Kernels, base: Tensor, change: Tensor | null): void {
  if (change !== null) kernels.add(base, change);
}

/** Columns `start` to `end` of x [T, C]. */
function columnsOf(kernels: Kernels, filled: Filled, x: Tensor, start: number, end: number): Tensor {
  const [rows, columns] = x.shape;
  const out = filled('columns', rows, end - start);
  for (let row = 0; row < rows; row++) {
    const from = x.view([end - start], row * columns + start);
    kernels.copy(out.view([end - start], row * (end - start)), from);
  }
  return out;
}

function turn(kernels: Kernels, filled: Filled, make: Parameters<KernelCase['run']>[1], sizes: readonly number[]) {
  const [tokens, heads, keyHeads, size] = sizes;
  return (changed: boolean): readonly Tensor[] => {
    const width = (heads + 2 * keyHeads) * size;
    const [base, change] = [filled('base', tokens, width), changed ? filled('change', tokens, width) : null];
    const [keys, values] = [filled('keys', 50, keyHeads, size), filled('values', 50, keyHeads, size)];
    const [queryNorm, keyNorm, table] = [filled('qn', size), filled('kn', size), filled('angles', 20, size)];
    const each = (by: number, most: number): Tensor =>
      make.from(
        Int32Array.from({ length: tokens }, (_, i) => (by * i + 3) % most),
        [tokens],
      );
    const [positions, slots, out] = [each(7, 20), each(11, 50), filled('out', tokens, heads, size)];
    if (kernels.jointTurn !== undefined) {
      const weights = [queryNorm, keyNorm] as const;
      kernels.jointTurn(out, [keys, values], base, change, weights, 1e-5, positions, table, slots);
      return [out, keys, values];
    }
    addInto(kernels, base, change);
    const [first, second] = [heads * size, (heads + keyHeads) * size];
    const part = (start: number, end: number, count: number): Tensor =>
      columnsOf(kernels, filled, base, start, end).view([tokens, count, size]);
    const [q, k, v] = [part(0, first, heads), part(first, second, keyHeads), part(second, width, keyHeads)];
    const turned = filled('turned', tokens, keyHeads, size);
    const pairs: readonly (readonly [Tensor, Tensor, Tensor])[] = [
      [out, q, queryNorm],
      [turned, k, keyNorm],
    ];
    for (const [to, x, weight] of pairs) {
      const flat: Shape = [x.size / size, size];
      kernels.rmsNorm(to.view(flat), filled('rms', x.size / size), x.view(flat), weight, 1e-5);
      kernels.rotary(to, to, positions, table, false);
    }
    kernels.scatterRows(keys, turned, slots);
    kernels.scatterRows(values, v, slots);
    return [out, keys, values];
  };
}

export function jointCases(): KernelCase[] {
  const variants = [false, true];
  const filler =
    (make: Parameters<KernelCase['run']>[1]): Filled =>
    (name, ...shape) =>
      make.from(normal(name, shape), shape);
  const named = (what: string, changed: boolean): string => `${what}${changed ? ' with a change' : ''}`;
  return variants.flatMap((changed) => [
    ...turnSizes.map((sizes) => ({
      name: named(`jointTurn ${sizes.join('×')}`, changed),
      exact: false,
      run: (kernels: Kernels, make: Parameters<KernelCase['run']>[1]) =>
        turn(kernels, filler(make), make, sizes)(changed),
    })),
    ...[64, 1024, 2560].map((columns) => ({
      name: named(`jointNorm 3×${columns}`, changed),
      exact: false,
      run: (kernels: Kernels, make: Parameters<KernelCase['run']>[1]) => {
        const filled = filler(make);
        const [base, change] = [filled('base', 3, columns), changed ? filled('change', 3, columns) : null];
        const [out, weight] = [filled('out', 3, columns), filled('weight', columns)];
        if (kernels.jointNorm !== undefined) kernels.jointNorm(out, base, change, weight, 1e-5);
        else {
          addInto(kernels, base, change);
          kernels.rmsNorm(out, filled('rms', 3), base, weight, 1e-5);
        }
        return [out, base];
      },
    })),
    ...[8, 96, 1000].map((columns) => ({
      name: named(`jointSwiglu 5×${columns}`, changed),
      exact: false,
      run: (kernels: Kernels, make: Parameters<KernelCase['run']>[1]) => {
        const filled = filler(make);
        const [base, change] = [filled('base', 5, 2 * columns), changed ? filled('change', 5, 2 * columns) : null];
        const out = filled('out', 5, columns);
        if (kernels.jointSwiglu !== undefined) kernels.jointSwiglu(out, base, change);
        else {
          addInto(kernels, base, change);
          const [gate, up] = [
            columnsOf(kernels, filled, base, 0, columns),
            columnsOf(kernels, filled, base, columns, 2 * columns),
          ];
          kernels.swiglu(out, gate, up);
        }
        return [out];
      },
    })),
  ]);
}
