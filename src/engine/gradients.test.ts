/**
 * Gradients that share memory (add and reshape pass theirs on uncopied) under random graphs. Every op below works element
 * by element, so the truth is one dual number per element and input: value, d/dx, d/dy.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { add, affine, multiply, reshape, subtract } from './ops/elementwise.ts';
import { sum } from './ops/reduce.ts';
import { createReferenceDevice } from './reference/index.ts';
import { Scope } from './scope.ts';
import { Tape } from './tape.ts';
import type { Tensor } from './tensor.ts';
import { readFloats } from './transfer.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 20 });
const size = 6;
const shapes = [[6], [2, 3], [3, 2], [1, 6]];

type Dual = readonly [value: number, dx: number, dy: number];
type Kind = 'add' | 'subtract' | 'multiply' | 'affine' | 'reshape';

interface Step {
  readonly kind: Kind;
  /** Which earlier results to use, counted back from the last. */
  readonly left: number;
  readonly right: number;
  readonly shape: number;
}

const dualOps: Readonly<Record<Kind, (a: Dual, b: Dual) => Dual>> = {
  add: (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]],
  subtract: (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]],
  multiply: (a, b) => [a[0] * b[0], a[1] * b[0] + a[0] * b[1], a[2] * b[0] + a[0] * b[2]],
  affine: (a) => [0.5 * a[0] + 1, 0.5 * a[1], 0.5 * a[2]],
  reshape: (a) => a,
};

function tensorOp(tape: Tape, { kind, shape }: Step, a: Tensor, b: Tensor): Tensor {
  if (kind === 'affine') return affine(tape, a, 0.5, 1);
  if (kind === 'reshape') return reshape(tape, a, shapes[shape]);
  const same = reshape(tape, b, a.shape);
  return { add, subtract, multiply }[kind](tape, a, same);
}

function pick<T>(list: readonly T[], back: number): T {
  return list[list.length - 1 - (back % list.length)];
}

const x0 = Float32Array.from({ length: size }, (_, i) => Math.sin(i + 1));
const y0 = Float32Array.from({ length: size }, (_, i) => Math.cos(i + 1));
const already = 10;

function truth(steps: readonly Step[]): { dx: number[]; dy: number[]; scale: number } {
  const [dx, dy] = [new Array<number>(size).fill(already), new Array<number>(size).fill(already)];
  let scale = 1;
  for (let i = 0; i < size; i++) {
    const values: Dual[] = [
      [x0[i], 1, 0],
      [y0[i], 0, 1],
    ];
    for (const { kind, left, right } of steps) values.push(dualOps[kind](pick(values, left), pick(values, right)));
    const last = values[values.length - 1];
    dx[i] += last[1];
    dy[i] += last[2];
    scale = Math.max(scale, ...values.flat().map(Math.abs));
  }
  return { dx, dy, scale };
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom<Kind>('add', 'subtract', 'multiply', 'affine', 'reshape'),
  left: fc.nat(5),
  right: fc.nat(5),
  shape: fc.nat(shapes.length - 1),
});

test('every use of a tensor adds to its gradient, however its memory is shared', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      using scope = new Scope(device);
      const [x, y] = [scope.from(x0, [size], 'x'), scope.from(y0, [size], 'y')];
      const [dx, dy] = ['dx', 'dy'].map((label) => scope.from(new Float32Array(size).fill(already), [size], label));
      const before = device.arena.used;
      {
        using tape = new Tape(device, {
          learn: new Map([
            [x, dx],
            [y, dy],
          ]),
        });
        const values = [x, y];
        for (const each of steps) values.push(tensorOp(tape, each, pick(values, each.left), pick(values, each.right)));
        tape.backward(sum(tape, values[values.length - 1]));
      }
      expect(device.arena.used).toBe(before);
      const exact = truth(steps);
      const bound = 1e-5 * exact.scale * steps.length;
      for (const [found, expected] of [
        [await readFloats(dx), exact.dx],
        [await readFloats(dy), exact.dy],
      ] as const) {
        for (let i = 0; i < size; i++) expect(Math.abs(found[i] - expected[i])).toBeLessThanOrEqual(bound);
      }
    }),
    { numRuns: 300 },
  );
});

test('a gradient handed on is not changed by what its receiver adds to it', async () => {
  using scope = new Scope(device);
  const learn = new Map(['a', 'b'].map((label) => [scope.from(x0, [size], label), scope.zeros([size], `d ${label}`)]));
  const [a, b] = learn.keys();
  using tape = new Tape(device, { learn });
  const [twiceA, twiceB] = [affine(tape, a, 2), affine(tape, b, 2)];
  const extra = affine(tape, twiceA, 3);
  // d(twiceA + twiceB) is one tensor for both; then twiceA alone gets 3 more.
  tape.backward(sum(tape, add(tape, extra, add(tape, twiceA, twiceB))));
  expect([...(await readFloats(learn.get(a) ?? a))]).toEqual(new Array(size).fill(8));
  expect([...(await readFloats(learn.get(b) ?? b))]).toEqual(new Array(size).fill(2));
});
