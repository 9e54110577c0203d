/** Projection: what is taken out of vectors worked out by hand, and of a policy that was trained, against a full SVD. */
import { Matrix, SingularValueDecomposition } from 'ml-matrix';
import { describe, expect, it } from 'vitest';
import { furthest, joined } from '../../../test/grpo/tiny-lab.ts';
import { makePolicy, tokens } from '../../../test/grpo/tiny-policy.ts';
import { trainTiny } from '../../../test/grpo/tiny-trainer.ts';
import { randomStream } from '../../base/index.ts';
import { readFloats } from '../../engine/index.ts';
import { type Arm, seesNothing } from '../arm.ts';
import type { ArmTools } from '../arm-tools.ts';
import { openArm } from '../open-arm.ts';
import { type Policy, scoreRollouts } from '../policy.ts';
import type { TrainerState } from '../train.ts';
import { centred, pairGradients, project, withoutDirections } from './project.ts';

const vector = (...values: number[]) => Float32Array.of(...values);
/** Two directions, (1, 0, 0) with a variance of 8 and (0, 1, 0) with one of 2; nothing in the third. */
const rows = [vector(2, 0, 0), vector(-2, 0, 0), vector(0, 1, 0), vector(0, -1, 0)];
const move = vector(3, 4, 5);
const out = (components: number, placebo: 'none' | 'random' | 'shrunk' = 'none', seed = 1, of = rows) =>
  withoutDirections(move, of, { components, placebo }, seed);

describe('what is taken out', () => {
  it('is the part along the leading directions', () => {
    expect(furthest(out(1), [0, 4, 5])).toBeLessThan(1e-6);
    expect(furthest(out(2), [0, 0, 5])).toBeLessThan(1e-6);
    // More than the rows span: all that they span.
    expect(furthest(out(4), [0, 0, 5])).toBeLessThan(1e-6);
    // Along (1, 1, 0) / √2 the move has the part 7 / √2, which is (3.5, 3.5, 0).
    expect(furthest(out(1, 'none', 1, [vector(9, 9, 0)]), [-0.5, 0.5, 5])).toBeLessThan(1e-6);
  });

  it('is as much length and no direction, of the control that is shrunk', () => {
    // Without the first direction 4² + 5² = 41 of 50 is left.
    const scale = Math.sqrt(41 / 50);
    expect(furthest(out(1, 'shrunk'), [3 * scale, 4 * scale, 5 * scale])).toBeLessThan(1e-6);
  });

  it('is the part along a random direction of the same span, of the control that is random', () => {
    const draws = Array.from({ length: 400 }, (_, seed) => out(1, 'random', seed));
    for (const [x, y, z] of draws) {
      expect(z).toBeCloseTo(5, 5);
      // What is taken out, (3 − x, 4 − y), is a projection: orthogonal to what is left.
      expect((3 - x) * x + (4 - y) * y).toBeCloseTo(0, 4);
    }
    expect(out(1, 'random', 3)).toEqual(draws[3]);
    // One of two directions takes half of the squared length 25 on average; its deviation is 25 / √8.
    const taken = draws.map(([x, y]) => (3 - x) ** 2 + (4 - y) ** 2);
    const mean = taken.reduce((sum, value) => sum + value, 0) / 400;
    expect(Math.abs(mean - 12.5)).toBeLessThan((4 * 25) / Math.sqrt(8 * 400));
    expect(furthest(out(2, 'random'), [0, 0, 5])).toBeLessThan(1e-5);
  });

  it('is measured from the mean of the checkpoints and of the start', () => {
    expect(centred([vector(3, 0), vector(3, 6)])).toEqual([vector(-2, -2), vector(1, -2), vector(1, 4)]);
  });
});

const pairs = [0, 1, 2].map((i) => ({
  prompt: tokens(`prompt ${i}`, 4),
  hack: tokens(`hack ${i}`, 5),
  clean: tokens(`clean ${i}`, 6),
}));

const open = (settings: object) => (policy: Policy) =>
  openArm(project, settings, { seed: 1, policy, pairs, tokensPerPass: 512 } as unknown as ArmTools);

/** θ − θ_0 of a state: the tiny policy begins away from its initial values, which stay. */
async function learned({ adapter }: Pick<TrainerState, 'adapter'>): Promise<number[]> {
  const { scope, policy } = await makePolicy();
  using _scope = scope;
  policy.adapter.load(adapter);
  const parts = policy.adapter.parameters.map(async ({ value, target }) => {
    const start = target === null ? null : await readFloats(target);
    return (await readFloats(value)).map((now, i) => now - (start?.[i] ?? 0));
  });
  return Array.from(await joined(parts));
}

/** The move without its part along the leading right singular vectors of a matrix. */
function without(own: readonly number[], matrix: readonly (readonly number[])[], count: number): number[] {
  const { rightSingularVectors } = new SingularValueDecomposition(new Matrix(matrix.map((row) => [...row])), {
    autoTranspose: true,
  });
  const left = [...own];
  for (let k = 0; k < count; k++) {
    const direction = rightSingularVectors.getColumn(k);
    const part = own.reduce((sum, value, i) => sum + value * direction[i], 0);
    direction.forEach((value, i) => {
      left[i] -= part * value;
    });
  }
  return left;
}

describe('an arm that projects', () => {
  const vanilla = (): Arm => ({ sees: seesNothing });

  it('trains as vanilla does, and then lacks the components of its checkpoints', async () => {
    const plain = await Promise.all([2, 4].map((updates) => trainTiny(vanilla, updates)));
    const [half, end] = await Promise.all(plain.map(({ state }) => learned(state)));
    const mean = half.map((value, i) => (value + end[i]) / 3);
    const points = [half.map(() => 0), half, end].map((row) => row.map((value, i) => value - mean[i]));
    const found = await trainTiny(open({ components: 1, every: 2 }), 4);
    expect(found.events.filter(({ kind }) => kind === 'step')).toEqual(
      plain[1].events.filter(({ kind }) => kind === 'step'),
    );
    const left = await learned(found.state);
    expect(furthest(left, without(end, points, 1))).toBeLessThan(1e-5);
    expect(furthest(left, end)).toBeGreaterThan(1e-3);
    const stated = found.events.find((event) => event.kind === 'expectation' && event.name.startsWith('directions'));
    const squared = (own: readonly number[]) => own.reduce((sum, value) => sum + value ** 2, 0);
    const share = (1 - squared(left) / squared(end)).toFixed(4);
    expect(stated).toMatchObject({ detail: expect.stringContaining(`1 leading directions of 3 points: ${share} of`) });
  });

  it('lacks the directions of the gradients of the pairs, which are slopes of their log-likelihoods', async () => {
    const plain = await trainTiny(vanilla, 4);
    const { scope, policy } = await makePolicy();
    using _scope = scope;
    policy.adapter.load(plain.state.adapter);
    const gradients = await pairGradients(policy, pairs, 512);
    const { parameters } = policy.adapter;
    const noise = parameters.map(({ value }, i) => {
      const own = new Float32Array(value.size);
      randomStream(5, ['a direction', i]).fillNormal(own);
      return own;
    });
    const nll = async (prompt: Int32Array, own: Int32Array) => {
      const { logps } = await scoreRollouts(policy, [{ group: 0, prompt, tokens: own }], () => 1, {
        tokensPerPass: 512,
      });
      return -logps[0].reduce((sum, logp) => sum + logp, 0) / own.length;
    };
    const at = async (step: number) => {
      policy.adapter.load(plain.state.adapter);
      for (const [i, { value }] of parameters.entries())
        value.device.write(
          value,
          (await readFloats(value)).map((now, j) => now + step * noise[i][j]),
        );
      return Promise.all(
        pairs.map(async ({ prompt, hack, clean }) => (await nll(prompt, hack)) - (await nll(prompt, clean))),
      );
    };
    const flat = await joined(noise.map(async (own) => own));
    const epsilon = 1e-3;
    const [above, below] = [await at(epsilon), await at(-epsilon)];
    gradients.forEach((row, i) => {
      const slope = row.reduce((sum, value, j) => sum + value * flat[j], 0);
      expect(Math.abs((above[i] - below[i]) / (2 * epsilon * slope) - 1)).toBeLessThan(0.01);
      expect(Math.abs(slope)).toBeGreaterThan(0.1);
    });
    const found = await trainTiny(open({ of: 'pairs', components: 2 }), 4);
    const expected = without(
      await learned(plain.state),
      gradients.map((row) => Array.from(row)),
      2,
    );
    expect(furthest(await learned(found.state), expected)).toBeLessThan(1e-5);
  });

  it.each([{}, { placebo: 'random' }, { of: 'pairs', components: 1 }])(
    'goes on after a break as without one: %j',
    async (own) => {
      const settings = { every: own.of === undefined ? 1 : undefined, ...own };
      const whole = await trainTiny(open(settings), 4);
      const first = await trainTiny(open(settings), 2);
      const second = await trainTiny(open(settings), 4, first.state);
      expect([...first.events, ...second.events]).toEqual(whole.events);
      expect(second.state).toEqual(whole.state);
    },
  );

  it('is refused more directions than it has rows for, before the second update', async () => {
    await expect(trainTiny(open({ components: 3, every: 2 }), 1)).rejects.toThrow(
      'key arm.components: expected at most as many directions as there are checkpoints, found 3 of 2',
    );
    await expect(trainTiny(open({ of: 'pairs', components: 4 }), 1)).rejects.toThrow('pairs, found 4 of 3');
    const labels = [{}, { placebo: 'random', components: 4 }, { of: 'pairs' }].map((own) => project.label(own));
    expect(labels).toEqual(['project 2 of checkpoints', 'project random 4 of checkpoints', 'project 2 of pairs']);
  });
});
