import fc from 'fast-check';
import { expect, test } from 'vitest';
import { randomStream } from '../base/rng.ts';
import { AdamW, type StepOptions } from './optimiser.ts';
import { createReferenceDevice } from './reference/index.ts';
import { Scope } from './scope.ts';
import { readFloats } from './transfer.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 20 });
const plain: StepOptions = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  decay: 0,
  maxNorm: Number.POSITIVE_INFINITY,
};

interface State {
  readonly value: Float64Array;
  readonly m: Float64Array;
  readonly v: Float64Array;
  readonly target: Float64Array | null;
}

/** Loshchilov and Hutter 2019 in float64, with the decay after the update and toward a target. */
function stepByHand(states: readonly State[], gradients: readonly Float32Array[], t: number, o: StepOptions): void {
  const norm = Math.sqrt(gradients.reduce((sum, g) => sum + g.reduce((part, x) => part + x * x, 0), 0));
  const clip = Math.min(1, o.maxNorm / (norm + 1e-6));
  states.forEach(({ value, m, v, target }, p) => {
    for (let i = 0; i < value.length; i++) {
      const g = gradients[p][i] * clip;
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      const meanHat = m[i] / (1 - o.beta1 ** t);
      const squareHat = v[i] / (1 - o.beta2 ** t);
      const moved = value[i] - (o.learningRate * meanHat) / (Math.sqrt(squareHat) + o.epsilon);
      value[i] = moved - o.learningRate * o.decay * (moved - (target === null ? 0 : target[i]));
    }
  });
}

function normal(name: string, size: number, step = 0): Float32Array {
  const data = new Float32Array(size);
  randomStream(3, name, step).fillNormal(data);
  return data;
}

test('follows a float64 loop over ten steps, with clip and decay toward targets and toward zero', async () => {
  const sizes = { first: 13, second: 1, third: 40 };
  const settings = fc.record({
    learningRate: fc.constantFrom(0.3, 0.01),
    beta1: fc.constantFrom(0, 0.9),
    beta2: fc.constantFrom(0.99, 0.999),
    epsilon: fc.constantFrom(1e-8, 1e-4),
    decay: fc.constantFrom(0, 0.1, 1),
    maxNorm: fc.constantFrom(0.5, 5, 1000, Number.POSITIVE_INFINITY),
  });
  await fc.assert(
    fc.asyncProperty(settings, async (options) => {
      using scope = new Scope(device);
      const parameters = Object.entries(sizes).map(([name, size]) => ({
        name,
        value: scope.from(normal(name, size), [size], name),
        gradient: scope.zeros([size], `d ${name}`),
        target: name === 'second' ? null : scope.from(normal(`${name} target`, size), [size], `${name} target`),
      }));
      const states = Object.entries(sizes).map(([name, size]) => ({
        value: Float64Array.from(normal(name, size)),
        m: new Float64Array(size),
        v: new Float64Array(size),
        target: name === 'second' ? null : Float64Array.from(normal(`${name} target`, size)),
      }));
      using optimiser = new AdamW(parameters);
      for (let step = 1; step <= 10; step++) {
        const gradients = Object.entries(sizes).map(([name, size]) => normal(`${name} gradient`, size, step));
        parameters.forEach(({ gradient }, p) => {
          device.write(gradient, gradients[p]);
        });
        optimiser.update(step, options);
        stepByHand(states, gradients, step, options);
        const squares = gradients.flatMap((g) => [...g]).reduce((sum, g) => sum + g * g, 0);
        expect((await readFloats(optimiser.squaredNorm))[0]).toBeCloseTo(squares, 3);
      }
      for (const [p, { value }] of parameters.entries()) {
        const found = await readFloats(value);
        const worst = found.reduce((most, x, i) => Math.max(most, Math.abs(x - states[p].value[i])), 0);
        expect(worst).toBeLessThanOrEqual(5e-6);
      }
    }),
    { numRuns: 40 },
  );
});

test('the first step of an unclipped update is the learning rate against the sign', async () => {
  using scope = new Scope(device);
  const value = scope.from(Float32Array.of(1, 1, 1), [3], 'value');
  const gradient = scope.from(Float32Array.of(5, -0.01, 0), [3], 'gradient');
  using optimiser = new AdamW([{ name: 'value', value, gradient, target: null }]);
  optimiser.update(1, plain);
  const [down, up, still] = await readFloats(value);
  expect(down).toBeCloseTo(0.99, 6);
  expect(up).toBeCloseTo(1.01, 6);
  expect(still).toBe(1);
});

test('a moment that is held stays to the bit, and the other follows: by hand', async () => {
  using scope = new Scope(device);
  const value = scope.from(Float32Array.of(1, -2), [2], 'value');
  const gradient = scope.zeros([2], 'gradient');
  using optimiser = new AdamW([{ name: 'value', value, gradient, target: null }]);
  const moments = optimiser.moments.get('value');
  const read = async () =>
    moments === undefined ? [] : [[...(await readFloats(moments.m))], [...(await readFloats(moments.v))]];
  device.write(gradient, Float32Array.of(2, 4));
  optimiser.update(1, { ...plain, learningRate: 0, decay: 1, hold: 'first' });
  // 0.01 of the squares 4 and 16; nothing moved.
  expect(await read()).toEqual([
    [0, 0],
    [expect.closeTo(0.04, 7), expect.closeTo(0.16, 7)],
  ]);
  expect([...(await readFloats(value))]).toEqual([1, -2]);
  const held = (await read())[1];
  device.write(gradient, Float32Array.of(0.5, -1));
  optimiser.update(1, { ...plain, hold: 'second' });
  expect(await read()).toEqual([[expect.closeTo(0.05, 7), expect.closeTo(-0.1, 7)], held]);
  // Means 0.5 and −1 over roots 2 and 4: a quarter of the learning rate each.
  const [down, up] = await readFloats(value);
  expect([down, up]).toEqual([expect.closeTo(0.9975, 6), expect.closeTo(-1.9975, 6)]);
});

test('zeroes gradients, offers what a tape learns, and frees its moments', async () => {
  using scope = new Scope(device);
  const value = scope.from(normal('value', 6), [2, 3], 'value');
  const gradient = scope.from(normal('gradient', 6), [2, 3], 'gradient');
  const before = device.arena.used;
  {
    using optimiser = new AdamW([{ name: 'value', value, gradient, target: null }]);
    expect([...optimiser.learn]).toEqual([[value, gradient]]);
    expect(optimiser.moments.get('value')?.m.shape).toEqual([2, 3]);
    optimiser.zeroGradients();
    expect((await readFloats(gradient)).every((x) => x === 0)).toBe(true);
    expect(device.arena.used).toBeGreaterThan(before);
  }
  expect(device.arena.used).toBe(before);
});

test('refuses what it cannot update, and leaks nothing doing so', () => {
  using scope = new Scope(device);
  using other = createReferenceDevice({ arenaBytes: 2 ** 12 });
  using foreign = new Scope(other);
  const [value, gradient] = [scope.zeros([2, 3], 'value'), scope.zeros([2, 3], 'gradient')];
  const right = { name: 'w', value, gradient, target: null };
  const before = device.arena.used;
  const wrong = [
    [[], /^AdamW: expected at least one parameter/],
    [[right, right], /^AdamW: expected distinct parameter names/],
    [[{ ...right, gradient: scope.empty([3, 2], 'flat') }], /^AdamW: expected .* of w .* found flat f32\[3,2\]/],
    [[{ ...right, gradient: scope.empty([2, 3], 'narrow', 'bf16') }], /found narrow bf16\[2,3\]/],
    [[{ ...right, target: scope.empty([6], 'goal') }], /found goal f32\[6\]/],
    [[{ ...right, gradient: foreign.zeros([2, 3], 'far') }], /found far f32\[2,3\] on another device/],
  ] as const;
  const used = device.arena.used;
  expect(used).toBeGreaterThan(before);
  for (const [parameters, message] of wrong) {
    expect(() => new AdamW(parameters)).toThrow(message);
    expect(device.arena.used).toBe(used);
  }
});
