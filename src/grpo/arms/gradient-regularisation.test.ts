/** The rule of gradient regularisation on a parabola, against numbers worked by hand, and in a whole update. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { furthest, plainArm, TinyLab } from '../../../test/grpo/tiny-lab.ts';
import { type Parameter, readFloats, Scope } from '../../engine/index.ts';
import { createReferenceDevice } from '../../engine/reference/index.ts';
import type { Arm } from '../arm.ts';
import type { ArmTools } from '../arm-tools.ts';
import { gradientRegularisation } from './gradient-regularisation.ts';

const open = async (settings: Readonly<Record<string, number>>): Promise<Arm> =>
  gradientRegularisation.open(settings, {} as ArmTools);

/** L = ½ (3 x² + 4 y²) at (x, y), in two parameters: its gradient is (3 x, 4 y). */
async function regularised(x: number, y: number, settings: Readonly<Record<string, number>>) {
  using scope = new Scope(createReferenceDevice());
  const parameter = (name: string, at: number): Parameter => ({
    name,
    value: scope.from(Float32Array.of(at), [1], name),
    gradient: scope.zeros([1], name),
    target: null,
  });
  const parameters = [parameter('x', x), parameter('y', y)];
  const moved: number[] = [];
  const again = async (): Promise<void> => {
    for (const [i, { value, gradient }] of parameters.entries()) {
      const [at] = await readFloats(value);
      moved.push(at);
      gradient.device.write(gradient, Float32Array.of((3 + i) * at));
    }
  };
  await again();
  moved.length = 0;
  await (await open(settings)).gradient?.(parameters, again);
  const read = (part: 'value' | 'gradient') =>
    Promise.all(parameters.map(async (own) => (await readFloats(own[part]))[0]));
  return { moved, values: await read('value'), gradients: await read('gradient') };
}

describe('gradient regularisation', () => {
  it('is g1 + (γ/ε)(g2 − g1), at θ + ε g1', async () => {
    // g1 = (3, 8); θ + 0.1 g1 = (1.3, 2.8); g2 = (3.9, 11.2), not scaled down; γ/ε = 0.5.
    const { moved, gradients, values } = await regularised(1, 2, { gamma: 0.05, epsilon: 0.1, clip: 100 });
    expect(furthest(moved, [1.3, 2.8])).toBeLessThan(1e-6);
    expect(furthest(gradients, [3.45, 9.6])).toBeLessThan(1e-5);
    expect(values).toEqual([1, 2]);
  });

  it('scales each gradient down to a norm of 10 first', async () => {
    // g1 = (30, 40) becomes (6, 8); θ + 0.5 g1 = (13, 14); g2 = (39, 56), of norm 68.2422, becomes (5.71494, 8.20606); γ/ε = 2.
    const { moved, gradients } = await regularised(10, 10, { gamma: 1, epsilon: 0.5 });
    expect(furthest(moved, [13, 14])).toBeLessThan(1e-5);
    expect(furthest(gradients, [5.42988, 8.41212])).toBeLessThan(1e-4);
  });

  it('puts the parameters back bit for bit, where θ + ε g1 − ε g1 would not', async () => {
    const { values } = await regularised(0.1, 1e-9, { gamma: 1e-3, epsilon: 0.7 });
    expect(values).toEqual([Math.fround(0.1), Math.fround(1e-9)]);
  });

  it('has the defaults of its source, under which g is g2', async () => {
    const { gradients } = await regularised(1, 2, {});
    expect(furthest(gradients, [3.009, 8.032])).toBeLessThan(1e-5);
  });

  it('refuses a move that is lost in rounding', async () => {
    await expect(regularised(1, 2, { epsilon: 1e-12 })).rejects.toThrow('config, key arm.epsilon: expected a move');
    expect((await regularised(0, 0, {})).gradients).toEqual([0, 0]);
  });

  it.each([{ epsilon: 0 }, { gamma: -1 }, { clip: 0 }])('refuses %o', (settings) => {
    expect(() => gradientRegularisation.settings.parse(settings)).toThrow();
  });
});

describe('gradient regularisation of an update', () => {
  let lab: TinyLab;
  beforeAll(async () => {
    lab = await TinyLab.open();
  });
  afterAll(() => lab[Symbol.dispose]());

  it('learns from other gradients on the same rollouts, in two backward passes', async () => {
    const changes = { changes: { optimiser: { maxGradientNorm: 1e9 } } };
    const plain = await lab.step(plainArm, changes);
    const own = await lab.step(await open({ gamma: 0.5, epsilon: 1 }), changes);
    const inputs = lab.inputsOf(own.outcome);
    const here = await lab.gradients(inputs);
    const there = await lab.gradients(inputs, { moved: here });
    expect(own.passes.learn).toBe(2 * plain.passes.learn);
    expect(here).toEqual(plain.gradients);
    expect(furthest(here, there)).toBeGreaterThan(1e-4);
    expect(
      furthest(
        own.gradients,
        here.map((g, i) => g + 0.5 * (there[i] - g)),
      ),
    ).toBeLessThan(1e-6);
  });
});
