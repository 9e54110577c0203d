/** Matrix products against plain float64 loops, and the promise of the same bytes for any threads, layout and cut. */
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { MatmulOptions } from '../kernels.ts';
import { Scope } from '../scope.ts';
import type { Tensor } from '../tensor.ts';
import { readFloats } from '../transfer.ts';
import { createWasmDevice, type Variant, type WasmDevice } from './index.ts';

interface Product extends MatmulOptions {
  readonly batch: number;
  readonly rows: number;
  readonly depth: number;
  readonly columns: number;
}

const variants: readonly Variant[] = ['plain', 'relaxed', 'wide'];
const arenaBytes = 2 ** 28;
const opened: WasmDevice[] = [];

async function open(variant: Variant, threads: number): Promise<WasmDevice> {
  const device = await createWasmDevice({ variant, threads, arenaBytes });
  opened.push(device);
  return device;
}

afterAll(() => {
  for (const device of opened) device[Symbol.dispose]();
});

/** Enough numbers for every case; a, b and c start at different places. */
const numbers = new Float32Array(2 ** 22);
for (let i = 0; i < numbers.length; i++) numbers[i] = Math.imul(i + 1, 0x9e3779b1) * 2 ** -32;

function operands({ batch, rows, depth, columns }: Product) {
  return {
    a: numbers.slice(1, 1 + batch * rows * depth),
    b: numbers.slice(77_777, 77_777 + batch * depth * columns),
    c: numbers.slice(333_333, 333_333 + batch * rows * columns),
  };
}

/** Where two results first differ in a bit; −1 for nowhere. */
function firstDifference(found: Float32Array, expected: Float32Array): number {
  const [left, right] = [found, expected].map(({ buffer }) => new Int32Array(buffer));
  return left.length === right.length ? left.findIndex((bits, i) => bits !== right[i]) : 0;
}

/** The product in float64, with the sum of absolute terms that bounds its rounding error. */
function naive(product: Product): { exact: Float64Array; size: Float64Array } {
  const { rows, depth, columns, transposeA, transposeB, accumulate } = product;
  const { a, b, c } = operands(product);
  const exact = new Float64Array(c.length);
  const size = new Float64Array(c.length);
  for (let i = 0; i < c.length; i++) {
    const [entry, m, n] = [Math.floor(i / (rows * columns)), Math.floor(i / columns) % rows, i % columns];
    exact[i] = accumulate ? c[i] : 0;
    size[i] = Math.abs(exact[i]);
    for (let k = 0; k < depth; k++) {
      const left = a[entry * rows * depth + (transposeA ? k * rows + m : m * depth + k)];
      const right = b[entry * depth * columns + (transposeB ? n * depth + k : k * columns + n)];
      exact[i] += left * right;
      size[i] += Math.abs(left * right);
    }
  }
  return { exact, size };
}

async function multiply(device: WasmDevice, product: Product, frozen = false): Promise<Float32Array> {
  const { batch, rows, depth, columns, transposeA, transposeB } = product;
  const { a, b, c } = operands(product);
  const leading = batch > 1 ? [batch] : [];
  using scope = new Scope(device);
  const left = scope.from(a, [...leading, ...(transposeA ? [depth, rows] : [rows, depth])], 'a');
  const right = scope.from(b, [...leading, ...(transposeB ? [columns, depth] : [depth, columns])], 'b');
  const out = scope.from(c, [...leading, rows, columns], 'c');
  if (frozen) device.freeze(right);
  device.kernels.matmul(out, left, right, product);
  return await readFloats(out);
}

function expectClose(found: Float32Array, product: Product): void {
  const { exact, size } = naive(product);
  const worst = found.reduce((most, value, i) => {
    const error = Math.abs(value - exact[i]) / (2 ** -24 * (size[i] || 1));
    return Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(most, error);
  }, 0);
  // The error is in units of half an ulp of Σ|terms|: a sum of blocks of 256 rounds at most this often.
  expect(worst).toBeLessThanOrEqual(Math.min(product.depth, 256) + Math.ceil(product.depth / 256) + 2);
}

const flags = [false, true];
const options = flags.flatMap((transposeA) =>
  flags.flatMap((transposeB) => flags.map((accumulate) => ({ transposeA, transposeB, accumulate }))),
);
const shapes: readonly [number, number, number, number][] = [
  [1, 1, 1, 1],
  [1, 0, 3, 4],
  [1, 3, 0, 4],
  [1, 3, 4, 0],
  [1, 7, 5, 3],
  [1, 6, 16, 16],
  [1, 33, 300, 17],
  [1, 129, 257, 65],
  [5, 9, 20, 11],
  [3, 70, 40, 33],
];

for (const variant of variants) {
  describe(`matmul, ${variant}`, async () => {
    const device = await open(variant, 2);

    test.each(shapes)('%i products %i×%i×%i, every way round', async (batch, rows, depth, columns) => {
      for (const option of options) {
        const product = { batch, rows, depth, columns, ...option };
        expectClose(await multiply(device, product), product);
      }
      expect(device.arena.used).toBe(0);
    });

    test('random small shapes', async () => {
      const size = fc.integer({ min: 0, max: 40 });
      const shape = fc.record({ batch: fc.integer({ min: 1, max: 3 }), rows: size, depth: size, columns: size });
      await fc.assert(
        fc.asyncProperty(shape, fc.constantFrom(...options), fc.boolean(), async (dims, option, frozen) => {
          const product = { ...dims, ...option };
          expectClose(await multiply(device, product, frozen), product);
        }),
        { numRuns: 60 },
      );
    });

    test('the same bytes for 1, 2 and 3 threads, frozen or not', async () => {
      const others = [await open(variant, 1), await open(variant, 3)];
      const cases: readonly [number, number, number, number][] = [
        [1, 500, 300, 200],
        [1, 64, 256, 700],
        [1, 20, 2000, 60],
        [1, 8, 400, 1000],
        [7, 60, 50, 40],
      ];
      for (const [batch, rows, depth, columns] of cases) {
        for (const option of options) {
          const product = { batch, rows, depth, columns, ...option };
          const expected = await multiply(device, product);
          for (const other of others) expect(firstDifference(await multiply(other, product), expected)).toBe(-1);
          expect(firstDifference(await multiply(device, product, true), expected)).toBe(-1);
        }
      }
    });

    test('a row does not depend on how many rows there are', async () => {
      const [depth, columns] = [300, 90];
      const one = { batch: 1, depth, columns, transposeA: false, transposeB: true, accumulate: false };
      const all = await multiply(device, { ...one, rows: 400 });
      for (const rows of [1, 5, 31, 33, 129]) {
        const some = await multiply(device, { ...one, rows });
        expect(firstDifference(some, all.slice(0, rows * columns))).toBe(-1);
      }
    });
  });
}

test('relaxed and wide give the same bytes', async () => {
  const [relaxed, wide] = [await open('relaxed', 1), await open('wide', 2)];
  for (const option of options) {
    const product = { batch: 1, rows: 131, depth: 600, columns: 77, ...option };
    expect(firstDifference(await multiply(wide, product), await multiply(relaxed, product))).toBe(-1);
  }
});

test('a product larger than the shared scratch goes in rounds', async () => {
  const device = await open('wide', 2);
  const product = { batch: 1, rows: 130, depth: 1100, columns: 2100, ...options[1] };
  const { exact, size } = naive({ ...product, rows: 1 });
  const found = await multiply(device, product);
  expect(firstDifference(await multiply(device, product, true), found)).toBe(-1);
  for (let n = 0; n < product.columns; n++) expect(Math.abs(found[n] - exact[n])).toBeLessThan(1e-5 * size[n]);
});

/** Gradient and moments for four rows of a parameter. */
const adamwParts = (tensor: Tensor) => [tensor.rows(0, 4), tensor.rows(0, 4), tensor.rows(4, 8)] as const;

describe('frozen layouts', async () => {
  const device = await open('wide', 1);
  const plainWay = { transposeA: false, transposeB: true, accumulate: false };

  test('are made on use of the weight as x · weightᵀ, once, and freed with it', () => {
    using scope = new Scope(device);
    const [x, y] = [scope.zeros([4, 32], 'x'), scope.zeros([4, 48], 'y')];
    const weight = scope.zeros([48, 32], 'weight');
    const before = device.arena.used;
    device.freeze(weight);
    expect(device.arena.used).toBe(before);
    device.kernels.matmul(y, x, weight, plainWay);
    const once = device.arena.used;
    expect(once).toBeGreaterThan(before);
    device.kernels.matmul(y, x, weight.view([48, 32]), plainWay);
    expect(device.arena.used).toBe(once);
    device.kernels.matmul(x, y, weight, { ...plainWay, transposeB: false });
    expect(device.arena.used).toBe(once);
  });

  test('leave nothing behind', () => expect(device.arena.used).toBe(0));

  test('are done without where the arena has no room', async () => {
    using scope = new Scope(device);
    const product = { batch: 1, rows: 9, depth: 128, columns: 200, ...plainWay };
    const expected = await multiply(device, product);
    const room = 4 * (product.columns * product.depth + product.rows * (product.depth + product.columns)) + 1024;
    scope.empty([(device.arena.capacity - device.arena.used - room) / 4], 'all the rest');
    expect(firstDifference(await multiply(device, product, true), expected)).toBe(-1);
  });

  test('forbid a later write', () => {
    using scope = new Scope(device);
    const weight = scope.zeros([4, 4], 'weight');
    device.freeze(weight);
    expect(() => device.write(weight, new Float32Array(16))).toThrow(/frozen/);
  });

  test('of a held weight go when it is let go, and only then may it change', () => {
    using scope = new Scope(device);
    const [weight, other] = [scope.zeros([8, 16], 'weight'), scope.zeros([8, 16], 'other')];
    const [x, out, norm] = [scope.zeros([4, 16], 'x'), scope.empty([4, 8], 'out'), scope.zeros([1], 'norm')];
    const options = { learningRate: 1, beta1: 0.9, beta2: 0.9, epsilon: 1, decay: 0, step: 1, maxNorm: 1 };
    const change = () => device.kernels.adamw(weight.rows(0, 4), ...adamwParts(other), null, norm, options);
    const before = device.arena.used;
    {
      using _held = device.hold(weight);
      device.kernels.matmul(out, x, weight.rows(0, 8), { transposeA: false, transposeB: true, accumulate: false });
      expect(device.arena.used).toBeGreaterThan(before);
      expect(change).toThrow(/frozen/);
      expect(() => device.write(weight, new Float32Array(128))).toThrow(/frozen/);
      const { kernels } = device;
      for (const changeInPlace of [
        () => kernels.fill(weight, 1),
        () => kernels.copy(weight.rows(0, 4), other.rows(0, 4)),
        () => kernels.affine(weight, weight, 2, 0),
        () => kernels.add(weight, other),
        () => kernels.binary('subtract', weight, weight, other),
      ]) {
        expect(changeInPlace).toThrow(/frozen/);
      }
    }
    expect(device.arena.used).toBe(before);
    expect(change).not.toThrow();
  });
});

describe('products in company', async () => {
  const device = await open('relaxed', 2).catch(() => open('plain', 2));
  const way = { transposeA: false, transposeB: true };
  const fill = (scope: Scope, shape: readonly number[], start: number) =>
    scope.from(numbers.slice(start, start + shape.reduce((size, axis) => size * axis, 1)), shape, 'operand');

  // The last one's B is packed in two rounds along the depth.
  test.each([
    [5, 7, 3],
    [70, 320, 130],
    [300, 256, 64],
    [130, 2200, 1000],
  ])('onto a sum: as the product and then the sum, %i×%i×%i', async (rows, depth, columns) => {
    using scope = new Scope(device);
    const [a, b] = [fill(scope, [rows, depth], 1), fill(scope, [columns, depth], 777)];
    const addend = fill(scope, [rows, columns], 3333);
    const [out, expected] = [scope.empty([rows, columns], 'out'), scope.empty([rows, columns], 'expected')];
    device.kernels.matmulOnto?.(out, addend, a, b, way);
    device.kernels.matmul(expected, a, b, { ...way, accumulate: false });
    device.kernels.binary('add', expected, addend, expected);
    expect(firstDifference(await readFloats(out), await readFloats(expected))).toBe(-1);
    device.kernels.matmulOnto?.(addend, addend, a, b, way);
    if (depth <= 256) expect(firstDifference(await readFloats(addend), await readFloats(expected))).toBe(-1);
  });

  test.each([
    [1, 64, [3, 8]],
    [64, 256, [256, 100, 696]],
    [300, 40, [30, 60]],
  ])('of one input: as each alone, %i rows of %i to %j', async (rows, depth, widths) => {
    using scope = new Scope(device);
    for (const frozen of [false, true]) {
      const x = fill(scope, [rows, depth], 5);
      const weights = widths.map((width, i) => fill(scope, [width, depth], 999 * (i + 1)));
      if (frozen) for (const weight of weights) device.freeze(weight);
      const outs = widths.map((width) => scope.empty([rows, width], 'out'));
      device.kernels.products?.(outs, x, weights);
      for (const [i, weight] of weights.entries()) {
        const alone = scope.empty([rows, widths[i]], 'alone');
        device.kernels.matmul(alone, x, weight, { ...way, accumulate: false });
        expect(firstDifference(await readFloats(outs[i]), await readFloats(alone))).toBe(-1);
      }
    }
  });

  // The last one's bottleneck is deeper than a block of a product.
  test.each([
    [7, 20, [6, 9], 3],
    [90, 64, [100], 8],
    [300, 192, [192, 576], 8],
    [40, 300, [300], 130],
  ])('with adapters: as their kernels one by one, %i rows of %i to %j, rank %i', async (rows, depth, widths, rank) => {
    using scope = new Scope(device);
    for (const [frozen, halves] of [
      [false, 4],
      [true, 2],
    ] as const) {
      const width = halves * rank;
      const [x, c] = [fill(scope, [rows, depth], 5), fill(scope, [rows, 2], 55)];
      const weights = widths.map((outputs, i) => fill(scope, [outputs, depth], 999 * (i + 1)));
      const downs = widths.map((_, i) => fill(scope, [width, depth], 99 * (i + 1)));
      const ups = widths.map((outputs, i) => fill(scope, [width, outputs], 88 * (i + 1)));
      if (frozen) for (const weight of weights) device.freeze(weight);
      const onto = fill(scope, [rows, widths[0]], 4444);
      const [outs, hs] = [widths, widths.map(() => width)].map((all) => all.map((n) => scope.empty([rows, n], 'out')));
      device.kernels.adaptedProducts?.(outs, hs, onto, x, weights, downs, ups, c, rank);
      for (const [i, outputs] of widths.entries()) {
        const expected = scope.empty([rows, outputs], 'expected');
        const [h, scaled] = [scope.empty([rows, width], 'h'), scope.empty([rows, 2 * rank], 'scaled')];
        device.kernels.matmul(h, x, downs[i], { ...way, accumulate: false });
        for (let first = 0; first < width; first += 2 * rank) {
          device.kernels.scaleBlocks(scaled, h, c, rank, first);
          const up = ups[i].rows(first, first + 2 * rank);
          device.kernels.matmul(expected, scaled, up, { ...way, transposeB: false, accumulate: first > 0 });
        }
        device.kernels.matmul(expected, x, weights[i], { ...way, accumulate: true });
        if (i === 0) device.kernels.binary('add', expected, onto, expected);
        expect(firstDifference(await readFloats(hs[i]), await readFloats(h))).toBe(-1);
        expect(firstDifference(await readFloats(outs[i]), await readFloats(expected))).toBe(-1);
      }
    }
  });
});
