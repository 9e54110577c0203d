/** The split adapter: no change at the start, the routes' table, mixed batches, both ways to detach, and the probe. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blockScales } from '../../test/device/block-scales.ts';
import { randomStream } from '../base/index.ts';
import {
  adaptedLinear,
  type BlockCoefficients,
  type BottleneckProbe,
  linear,
  multiply,
  readFloats,
  Scope,
  splitAdapter,
  sum,
  Tape,
  type Tensor,
} from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { type Detach, type Route, routeCoefficients } from './routes.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 24 });
const [tokens, channels, outputs, rank] = [7, 6, 5, 2];
const normal = (name: string, size: number): Float32Array => {
  const data = new Float32Array(size);
  randomStream(5, name).fillNormal(data);
  return data;
};
const data = {
  x: normal('x', tokens * channels),
  weight: normal('weight', outputs * channels),
  down: normal('down', 4 * rank * channels),
  up: normal('up', 4 * rank * outputs),
  dy: normal('dy', tokens * outputs),
};

interface Result {
  readonly y: Float32Array;
  readonly dx: Float32Array;
  readonly dDown: Float32Array;
  readonly dUp: Float32Array;
}

/** Forward and backward of Σ dy · y over the tokens `rows`. */
async function run(
  rows: readonly number[],
  coefficients: (scope: Scope) => BlockCoefficients,
  probe?: BottleneckProbe,
  others: readonly (readonly [Tensor, Tensor])[] = [],
): Promise<Result> {
  using scope = new Scope(device);
  const take = (from: Float32Array, width: number): Float32Array =>
    Float32Array.from(rows.flatMap((row) => [...from.subarray(row * width, (row + 1) * width)]));
  const x = scope.from(take(data.x, channels), [rows.length, channels], 'x');
  const dy = scope.from(take(data.dy, outputs), [rows.length, outputs], 'dy');
  const weight = scope.from(data.weight, [outputs, channels], 'weight');
  const down = scope.from(data.down, [4 * rank, channels], 'down');
  const up = scope.from(data.up, [4 * rank, outputs], 'up');
  const adapter = splitAdapter(rank, down, up);
  const learn = new Map(
    [x, adapter.learnDown, adapter.learnUp].map((tensor) => [tensor, scope.zeros(tensor.shape, `d ${tensor.label}`)]),
  );
  using tape = new Tape(device, { learn: new Map([...learn, ...others]) });
  const y = adaptedLinear(tape, x, weight, null, adapter, coefficients(scope), probe);
  tape.backward(sum(tape, multiply(tape, y, dy)));
  const gradient = (tensor: Tensor): Promise<Float32Array> => readFloats(learn.get(tensor) ?? tensor);
  return {
    y: await readFloats(y),
    dx: await gradient(x),
    dDown: await gradient(adapter.learnDown),
    dUp: await gradient(adapter.learnUp),
  };
}

const every = Array.from({ length: tokens }, (_, t) => t);
const allOf = (route: Route, detach: Detach) => (scope: Scope) =>
  routeCoefficients(
    scope,
    every.map(() => route),
    detach,
  );
const detaches: readonly Detach[] = ['branch', 'parameter'];
const routes: readonly Route[] = ['keep', 'absorb', 'route'];

/** Block 0 is deployed, 1 quarantine: the rows of a [2R, width] gradient. */
const block = (gradient: Float32Array, which: number): Float32Array =>
  gradient.subarray((which * gradient.length) / 2, ((which + 1) * gradient.length) / 2);
const isZero = (values: Float32Array): boolean => values.every((value) => value === 0);

function expectClose(found: Float32Array, expected: ArrayLike<number>, bound = 1e-5): void {
  const largest = found.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
  const worst = found.reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i])), 0);
  expect(found.length).toBe(expected.length);
  expect(worst / largest).toBeLessThanOrEqual(bound);
}

describe('start', () => {
  test('y is W x + bias to the last bit while A = A0 and B = B0, whatever the scales', async () => {
    const size = fc.integer({ min: 1, max: 9 });
    await fc.assert(
      fc.asyncProperty(
        fc.record({ T: size, C: size, O: size, R: fc.integer({ min: 1, max: 4 }), seed: fc.nat(1000) }),
        fc.float({ min: -3, max: 3, noNaN: true }),
        async ({ T, C, O, R, seed }, scale) => {
          using scope = new Scope(device);
          const make = (name: string, ...shape: number[]): Tensor =>
            scope.from(normal(`${name} ${seed}`, shape[0] * (shape[1] ?? 1)), shape, name);
          const repeat = (half: Float32Array): Float32Array => Float32Array.from([...half, ...half]);
          const down = scope.from(repeat(normal(`down ${seed}`, 2 * R * C)), [4 * R, C], 'down');
          const up = scope.from(repeat(normal(`up ${seed}`, 2 * R * O)), [4 * R, O], 'up');
          const [x, weight, bias] = [make('x', T, C), make('weight', O, C), make('bias', O)];
          using tape = new Tape(device);
          const plain = linear(tape, x, weight, bias);
          const scales = blockScales(scope, T, 1, scale);
          const adapted = adaptedLinear(tape, x, weight, bias, splitAdapter(R, down, up), scales);
          expect(await readFloats(adapted)).toEqual(await readFloats(plain));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('an adapter without an initial part adds upᵀ down x', async () => {
    using scope = new Scope(device);
    const x = scope.from(Float32Array.of(1, 2), [1, 2], 'x');
    const weight = scope.zeros([1, 2], 'weight');
    const down = scope.from(Float32Array.of(1, 0, 0, 1), [2, 2], 'down');
    const up = scope.from(Float32Array.of(10, 100), [2, 1], 'up');
    using tape = new Tape(device);
    const y = adaptedLinear(tape, x, weight, null, splitAdapter(1, down, up), blockScales(scope, 1, 1, 0.5));
    expect([...(await readFloats(y))]).toEqual([10 + 0.5 * 200]);
  });
});

describe.each(detaches)('detach %s', (detach) => {
  test.each<[Route, deployedLearns: boolean, quarantineLearns: boolean]>([
    ['keep', true, false],
    ['absorb', true, true],
    ['route', false, true],
  ])('%s: exactly the blocks of the table learn', async (route, deployedLearns, quarantineLearns) => {
    const { dDown, dUp } = await run(every, allOf(route, detach));
    for (const gradient of [dDown, dUp]) {
      expect(isZero(block(gradient, 0))).toBe(!deployedLearns);
      expect(isZero(block(gradient, 1))).toBe(!quarantineLearns);
    }
  });

  test('quarantine is in the forward of absorb and route, and not of keep', async () => {
    const [keep, absorb, route] = await Promise.all(routes.map((each) => run(every, allOf(each, detach))));
    const [off, on] = [
      await run(every, (scope) => blockScales(scope, tokens, 1, 0)),
      await run(every, (scope) => blockScales(scope, tokens, 1, 1)),
    ];
    expect(keep.y).toEqual(off.y);
    expect(absorb.y).toEqual(on.y);
    expect(route.y).toEqual(on.y);
    expect(on.y).not.toEqual(off.y);
  });

  test('a mixed batch is the sum of one pass per token', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...routes), { minLength: tokens, maxLength: tokens }),
        async (mixed) => {
          const whole = await run(every, (scope) => routeCoefficients(scope, mixed, detach));
          const single = await Promise.all(
            every.map((t) => run([t], (scope) => routeCoefficients(scope, [mixed[t]], detach))),
          );
          expect(whole.y).toEqual(Float32Array.from(single.flatMap(({ y }) => [...y])));
          expect(whole.dx).toEqual(Float32Array.from(single.flatMap(({ dx }) => [...dx])));
          for (const name of ['dDown', 'dUp'] as const) {
            const total = Float64Array.from(whole[name], (_, i) =>
              single.reduce((sum, each) => sum + each[name][i], 0),
            );
            expectClose(whole[name], total, 1e-6);
          }
        },
      ),
      { numRuns: 30 },
    );
  });
});

const mixed: readonly Route[] = ['keep', 'absorb', 'route', 'route', 'keep', 'absorb', 'route'];
const scalesOf = (route: Route): readonly [number, number] => (route === 'keep' ? [1, 0] : [1, 1]);

test('detach parameter is brute force: every token alone, everything learning, then masked and summed', async () => {
  const found = await run(every, (scope) => routeCoefficients(scope, mixed, 'parameter'));
  const alone = await Promise.all(every.map((t) => run([t], (scope) => blockScales(scope, 1, ...scalesOf(mixed[t])))));
  const learns = { keep: [1, 0], absorb: [1, 1], route: [0, 1] };
  for (const name of ['dDown', 'dUp'] as const) {
    const total = Float64Array.from(found[name], (_, i) => {
      const which = i < found[name].length / 2 ? 0 : 1;
      return alone.reduce((sum, each, t) => sum + learns[mixed[t]][which] * each[name][i], 0);
    });
    expectClose(found[name], total, 1e-6);
  }
  // Gradients of activations are untouched.
  expect(found.dx).toEqual(Float32Array.from(alone.flatMap(({ dx }) => [...dx])));
});

test('detach branch passes no gradient through the branch that does not learn', async () => {
  const { dx } = await run(every, allOf('route', 'branch'));
  const withoutDeployed = await run(every, (scope) => blockScales(scope, tokens, 0, 1));
  const untouched = await run(every, allOf('route', 'parameter'));
  expect(dx).toEqual(withoutDeployed.dx);
  expect(dx).not.toEqual(untouched.dx);
});

test('the probe sees the bottleneck, and the gradient of a scale of one per segment; nothing else changes', async () => {
  using scope = new Scope(device);
  const cuts = [0, 3, tokens];
  const ranges = scope.from(Int32Array.of(cuts[0], cuts[1], cuts[1], cuts[2]), [2, 2], 'ranges');
  const ones = scope.from(new Float32Array(2 * rank).fill(1), [2, rank], 'ones');
  const dOnes = scope.zeros([2, rank], 'd ones');
  const reads: Promise<Float32Array>[] = [];
  const probe: BottleneckProbe = { forward: (h) => reads.push(readFloats(h)), scale: { ones, ranges } };
  const coefficients = (owner: Scope): BlockCoefficients => routeCoefficients(owner, mixed, 'branch');
  const plain = await run(every, coefficients);
  expect(await run(every, coefficients, probe, [[ones, dOnes]])).toEqual(plain);
  expect(reads).toHaveLength(1);
  const h = await reads[0];
  const width = 4 * rank;
  expectClose(
    h,
    Float64Array.from(h, (_, i) => dot(data.down, i % width, data.x, Math.floor(i / width), channels)),
    1e-6,
  );
  const expected = [0, 1].flatMap((segment) =>
    Array.from({ length: rank }, (_, r) => {
      let total = 0;
      for (let t = cuts[segment]; t < cuts[segment + 1]; t++) {
        total += scalesOf(mixed[t])[0] * dot(data.up, r, data.dy, t, outputs) * h[t * width + r];
      }
      return total;
    }),
  );
  expectClose(await readFloats(dOnes), expected, 1e-6);
});

/** Row i of a times row j of b. */
function dot(a: Float32Array, i: number, b: Float32Array, j: number, length: number): number {
  let total = 0;
  for (let d = 0; d < length; d++) total += a[i * length + d] * b[j * length + d];
  return total;
}
