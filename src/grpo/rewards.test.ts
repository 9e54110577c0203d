/** The hooks that decide what an update learns from: rewards and screens, in whole updates of a tiny policy. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { furthest, plainArm, TinyLab } from '../../test/grpo/tiny-lab.ts';
import { groupAdvantages, inGroupsWithSpread, setApart } from './advantage.ts';
import type { Arm, GradedRollouts, Screening } from './arm.ts';
import { rolloutRecords } from './report.ts';

let lab: TinyLab;
beforeAll(async () => {
  lab = await TinyLab.open();
});
afterAll(() => lab[Symbol.dispose]());

/** Rewards of two groups of four. */
const rewards = [3, 0, 1, 0, 0, 2, 0, 0];
const near = (found: ArrayLike<number>, expected: readonly number[]) =>
  expect(furthest(found, expected)).toBeLessThan(1e-5);
const screenedBy = (...screening: Screening[]): Arm => ({ ...plainArm, screen: async () => screening });

describe('the reward hook', () => {
  const turned: Arm = { ...plainArm, reward: async ({ rewards: given }) => given.map((reward) => 4 - 2 * reward) };
  const learned = [-2, 4, 2, 4, 4, 0, 4, 4];

  it('drives the advantages, and the record keeps both rewards', async () => {
    const { outcome, gradients } = await lab.step(turned, { rewards });
    expect(Array.from(outcome.rewards)).toEqual(rewards);
    expect(Array.from(outcome.learnedRewards ?? [])).toEqual(learned);
    expect(Array.from(outcome.advantages)).toEqual([-4, 2, 0, 2, 1, -3, 1, 1]);
    const records = rolloutRecords(outcome);
    expect(records.map(({ reward }) => reward)).toEqual(rewards);
    expect(records.map(({ learnedReward }) => learnedReward)).toEqual(learned);
    const graded = await lab.step(plainArm, { rewards: learned });
    expect(gradients).toEqual(graded.gradients);
    expect(rolloutRecords(graded.outcome).map(({ learnedReward }) => learnedReward)).toEqual(Array(8).fill(null));
    expect(furthest(gradients, (await lab.step(plainArm, { rewards })).gradients)).toBeGreaterThan(1e-3);
  });

  it('can take a group away, and bring one back', async () => {
    const arm: Arm = {
      ...plainArm,
      reward: ({ rollouts }) => Float32Array.from(rollouts, ({ group }, i) => group * i),
    };
    const { outcome } = await lab.step(arm, { rewards: [1, 2, 3, 4, 1, 1, 1, 1] });
    expect(outcome.skippedGroups).toEqual([true, false]);
    expect(outcome.trained).toEqual([4, 5, 6, 7]);
  });

  it('is shown what the grader gave, and cannot change the record of it in place', async () => {
    let seen: GradedRollouts | undefined;
    const { outcome, gradients } = await lab.step(
      {
        ...plainArm,
        reward(graded) {
          seen = { ...graded, rewards: graded.rewards.slice() };
          return graded.rewards.fill(0).map((_, i) => i);
        },
        screen: ({ rewards: own, rollouts }) => rollouts.map((_, i) => (own.fill(9)[i] === 9 ? 'train' : 'silence')),
        route: ({ advantages, rollouts }) => {
          advantages.fill(7);
          return { routes: rollouts.map(() => ['absorb']), scores: null, cuts: null, bufferRows: 0 };
        },
      },
      { rewards },
    );
    expect(Array.from(seen?.rewards ?? [])).toEqual(rewards);
    expect(Array.from(outcome.rewards)).toEqual(rewards);
    expect(Array.from(outcome.learnedRewards ?? [])).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(Array.from(outcome.advantages)).toEqual([-1.5, -0.5, 0.5, 1.5, -1.5, -0.5, 0.5, 1.5]);
    expect(gradients).toEqual(await lab.gradients(lab.inputsOf(outcome)));
  });

  it.each([
    ['too few', () => new Float32Array(7), 'expected 8 answers, one per rollout, found 7.'],
    [
      'one that is no number',
      () => new Float32Array(8).fill(Number.NaN, 3, 4),
      'expected finite rewards, found number NaN for rollout 3.',
    ],
  ])('%s stop the run by name', async (_, reward, message) => {
    await expect(lab.step({ ...plainArm, reward })).rejects.toThrow(`hook reward of the arm: ${message}`);
  });
});

describe('the screen hook', () => {
  // In the first group 3, 1 and 0 count: mean 4/3, variance 14/9. In the second group one reward is left.
  const mixed: Screening[] = [
    'train',
    'leave-out',
    'train',
    'silence',
    'leave-out',
    'train',
    'leave-out',
    'leave-out', // biome-ignore format: groups
  ];

  it.each([
    { kind: 'dr' as const, scale: 1 },
    { kind: 'classic' as const, scale: Math.sqrt(14 / 9) + 1e-4 },
  ])('leaves out of the mean, silences within it, skips a group with one left ($kind)', async ({ kind, scale }) => {
    const { outcome } = await lab.step(screenedBy(...mixed), { rewards, changes: { loss: { kind } } });
    near(outcome.advantages, [5 / 3 / scale, 0, -1 / 3 / scale, 0, 0, 0, 0, 0]);
    expect(outcome).toMatchObject({ skippedGroups: [false, true], trained: [0, 1, 2, 3], screening: mixed });
    expect(rolloutRecords(outcome).map(({ screening }) => screening)).toEqual(mixed);
    expect(rolloutRecords(outcome).map(({ reward }) => reward)).toEqual(rewards);
  });

  it.each([
    { what: 'silence keeps the mean of all', screening: ['silence', 'train', 'train', 'train'], found: [0, -1, 0, -1] },
    {
      what: 'leaving out does not',
      screening: ['leave-out', 'train', 'train', 'train'],
      found: [0, -1 / 3, 2 / 3, -1 / 3],
    },
    { what: 'two are enough', screening: ['train', 'train', 'leave-out', 'leave-out'], found: [1.5, -1.5, 0, 0] },
    { what: 'all trained is no screen', screening: ['train', 'train', 'train', 'train'], found: [2, -1, 0, -1] },
    { what: 'all silenced is no group skipped', screening: Array(4).fill('silence'), found: [0, 0, 0, 0] },
  ] as const)('$what', ({ screening, found }) => {
    const { values, skipped } = groupAdvantages(Float32Array.of(3, 0, 1, 0), 4, 'dr', screening);
    near(values, found);
    expect(skipped).toEqual([false]);
  });

  it.each([
    { what: 'none left', screening: Array<Screening>(4).fill('leave-out') },
    { what: 'one left', screening: ['train', 'leave-out', 'leave-out', 'leave-out'] as const },
    { what: 'those left are equal', screening: ['leave-out', 'train', 'leave-out', 'train'] as const },
    { what: 'those left are equal, one silenced', screening: ['leave-out', 'silence', 'leave-out', 'train'] as const },
  ])('a group is skipped, with numbers that are zero: $what', ({ screening }) => {
    for (const kind of ['dr', 'classic'] as const) {
      const { values, skipped } = groupAdvantages(Float32Array.of(3, 0, 1, 0), 4, kind, screening);
      expect(skipped).toEqual([true]);
      expect(Array.from(values)).toEqual([0, 0, 0, 0]);
    }
  });

  // Worked out by hand. The whole group has the mean 7.5/4 = 1.875 and the variance 10.6875/4; without the first rollout 4/3 and 7.1667/3.
  it.each([
    { kind: 'dr' as const, found: [1.625, -0.833333, 2.166667, -1.333333] },
    { kind: 'classic' as const, found: [0.994074, -0.539131, 1.40174, -0.86261] },
  ])('apart: compared with the group, the others among themselves ($kind)', ({ kind, found }) => {
    const own = groupAdvantages(Float32Array.of(3.5, 0.5, 3.5, 0), 4, kind, ['apart', 'train', 'train', 'train']);
    near(own.values, found);
    expect(own.skipped).toEqual([false]);
  });

  it.each([
    {
      what: 'clean rollouts are not blamed for the hacks',
      given: [3.5, 0.5, 3.5, 0.5],
      apart: [0, 2],
      found: [1.5, 0, 1.5, 0],
    },
    { what: 'one other has nobody to be compared with', given: [3, 3, 1, 1], apart: [0, 1, 2], found: [1, 1, -1, 0] },
    { what: 'all apart is the mean of the group', given: [3, 0, 1, 0], apart: [0, 1, 2, 3], found: [2, -1, 0, -1] },
    { what: 'none apart is the mean of the group', given: [3, 0, 1, 0], apart: [], found: [2, -1, 0, -1] },
  ])('$what', ({ given, apart, found }) => {
    const screening = setApart(given.map((_, i) => apart.includes(i)));
    const { values, skipped } = groupAdvantages(Float32Array.from(given), 4, 'dr', screening);
    near(values, found);
    expect(skipped).toEqual([false]);
  });

  it('apart: a group of equal rewards is skipped, and one of equal others is not', () => {
    const screening = setApart([true, false, false, false, true, false, false, false]);
    const { skipped } = groupAdvantages(Float32Array.of(2, 2, 2, 2, 3, 2, 2, 2), 4, 'dr', screening);
    expect(skipped).toEqual([true, false]);
    expect(inGroupsWithSpread(Float32Array.of(2, 2, 2, 2, 3, 2, 2, 2), [0, 0, 0, 0, 1, 1, 1, 1])).toEqual(
      [0, 0, 0, 0, 1, 1, 1, 1].map((group) => group === 1),
    );
  });

  it('a rollout without an advantage teaches nothing but its distance from the base', async () => {
    const quiet = { changes: { loss: { klWeight: 0 } } };
    const arm = screenedBy('train', 'leave-out', 'train', 'silence', 'train', 'train', 'silence', 'train');
    const { outcome, gradients } = await lab.step(arm, { rewards, ...quiet });
    const inputs = lab.inputsOf(outcome);
    const taught = outcome.trained.filter((i) => outcome.screening?.[i] === 'train');
    expect(taught).toEqual([0, 2, 4, 5, 7]);
    const alone = await lab.gradients(
      {
        rollouts: taught.map((i) => inputs.rollouts[i]),
        advantages: Float32Array.from(taught, (i) => inputs.advantages[i]),
        logpOld: taught.map((i) => inputs.logpOld[i]),
        logpBase: taught.map((i) => inputs.logpBase[i]),
        routes: taught.map(() => ['absorb']),
      },
      quiet,
    );
    expect(furthest(gradients, alone)).toBeLessThan(1e-6);
    expect(Math.max(...gradients.map(Math.abs))).toBeGreaterThan(1e-3);
  });

  it('is shown the rewards as the reward hook left them', async () => {
    let seen: Float32Array = new Float32Array();
    await lab.step(
      {
        ...plainArm,
        reward: ({ rewards: given }) => given.map((reward) => reward + 1),
        screen: ({ rewards: given, rollouts }) => {
          seen = given;
          return rollouts.map(() => 'train');
        },
      },
      { rewards },
    );
    expect(Array.from(seen)).toEqual(rewards.map((reward) => reward + 1));
    await expect(lab.step(screenedBy('train'), { rewards })).rejects.toThrow(
      'hook screen of the arm: expected 8 answers, one per rollout, found 1',
    );
  });
});

describe('a price for tokens', () => {
  it('charges every completion for its length, and none where there is no price', async () => {
    const priced = await lab.step(plainArm, { changes: { environment: { unhackableFraction: 0, tokenPrice: 0.25 } } });
    const lengths = priced.outcome.rollouts.map(({ tokens }) => tokens.length);
    expect(new Set(lengths).size).toBeGreaterThan(1);
    expect(priced.submissions.map(({ charge }) => charge)).toEqual(lengths.map((length) => 0.25 * length));
    const free = await lab.step(plainArm);
    expect(free.submissions.every(({ charge }) => charge === 0)).toBe(true);
  });
});
