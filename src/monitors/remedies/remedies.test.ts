/** What each remedy makes of flags and scores, with numbers worked out by hand from its rule. */
import { describe, expect, it } from 'vitest';
import { groupAdvantages } from '../../grpo/advantage.ts';
import type { GradedRollouts, ScoredRollouts, Watched } from '../../grpo/index.ts';
import { builtinCuts } from '../cuts.ts';
import { watchedArms } from '../kinds.ts';
import type { Monitor } from '../monitor.ts';
import { blindMonitors, builtinRemedies } from '../registry.ts';
import type { Acts } from '../remedy.ts';
import { advantageModification } from './modify.ts';
import { activationPenalty, penalty, probePenalty, zero } from './penalty.ts';
import { routeRemedy } from './route.ts';
import { filter, screen } from './screen.ts';

const said = (scores: readonly (number | null)[], cut = 0.5, abstained = false): Watched => ({
  scores,
  flagged: scores.map((score) => (score === null ? abstained : score > cut)),
  cut,
  abstentions: {},
  costs: {},
});

const graded = (rewards: readonly number[], watched: Watched, groups = rewards.map(() => 0)) =>
  ({
    rewards: Float32Array.from(rewards),
    rollouts: groups.map((group) => ({ group })),
    watched,
  }) as unknown as GradedRollouts & { readonly watched: Watched };

const rewardsOf = ({ reward }: Acts, rewards: readonly number[], watched: Watched, groups?: number[]): number[] =>
  Array.from(reward?.(graded(rewards, watched, groups)) ?? []);

/** Rewards of one group: a hack, a solve, a failure that looks like a hack, a failure. */
const rewards = [3.5, 3.5, 0.5, 0];
const watched = said([0.9, 0.1, 0.8, 0.2]);

describe('penalties', () => {
  it('take off c where a rollout is flagged', () => {
    expect(rewardsOf(penalty.act({ penalty: 3 }, 1), rewards, watched)).toEqual([0.5, 3.5, -2.5, 0]);
    expect(rewardsOf(zero.act({}, 1), rewards, watched)).toEqual([0, 3.5, 0, 0]);
  });

  it('by dose: r − w · p for every rollout', () => {
    const found = rewardsOf(probePenalty.act({ weight: 2 }, 1), rewards, watched);
    [1.7, 3.3, -1.1, -0.4].forEach((expected, i) => {
      expect(found[i]).toBeCloseTo(expected, 6);
    });
    const abstaining = [said([null]), said([null], 0.5, true)];
    expect(abstaining.map((one) => rewardsOf(probePenalty.act({ weight: 1 }, 1), [3], one))).toEqual([[3], [2]]);
    expect(() => rewardsOf(probePenalty.act({ weight: 1 }, 1), [3], said([1.5]))).toThrow(
      'arm probe-penalty: expected probabilities from the monitor, from 0 to 1, found 1.5',
    );
  });
});

describe('a probability as a term of the loss', () => {
  it('takes off as much of the rewards as the plain penalty by dose', () => {
    const found = rewardsOf(activationPenalty.act({ lossWeight: 9, weight: 2 }, 1), rewards, watched);
    expect(found).toEqual(rewardsOf(probePenalty.act({ weight: 2 }, 1), rewards, watched));
  });

  const act = activationPenalty.act({ lossWeight: 2, weight: 1 }, 1);
  const features = { rows: 1, modules: 1, rank: 2, data: Float32Array.of(1, 1) };

  it('is λ times what the monitor gives, in value and slope', () => {
    const slopes = () => ({ values: [0.25], slopes: Float32Array.of(0.5, -1) });
    expect(act.term?.({ slopes } as unknown as Monitor)(features)).toEqual({
      values: [0.5],
      slopes: Float32Array.of(1, -2),
    });
    expect(probePenalty.act({ weight: 1 }, 1).term).toBeUndefined();
  });

  it('needs a monitor that has slopes', () => {
    expect(() => act.term?.({} as unknown as Monitor)).toThrow(
      'arm activation-penalty: expected a monitor that is a smooth function of activations',
    );
  });
});

describe('advantage modification', () => {
  // Scores 1, 1, 1, 5: mean 2, deviation √3, so the last stands at z = √3 and the others at −1/√3.
  const one = said([1, 1, 1, 5]);
  const keys = { strength: 2, deviationFloor: 0.1 };

  it('multiplicative: r · (1 − α σ(z)) above the group mean', () => {
    const found = rewardsOf(advantageModification.act({ ...keys, form: 'multiplicative' }, 1), [3, 3, 0, 3], one);
    expect(found.slice(0, 3)).toEqual([3, 3, 0]);
    // σ(√3) = 0.849676
    expect(found[3]).toBeCloseTo(3 * (1 - 2 * 0.849676), 4);
  });

  it('additive: r − α · max(z, 0)', () => {
    const found = rewardsOf(advantageModification.act({ ...keys, form: 'additive' }, 1), [3, 3, 0, 3], one);
    expect(found.slice(0, 3)).toEqual([3, 3, 0]);
    expect(found[3]).toBeCloseTo(3 - 2 * Math.sqrt(3), 5);
  });

  it('has a floor below the deviation, and groups of their own', () => {
    const additive = advantageModification.act({ ...keys, form: 'additive' }, 1);
    // 0.04 above the mean of the first group, whose deviation of 0.04 is below the floor; the second group has no spread.
    const found = rewardsOf(additive, [1, 1, 1, 1], said([0, 0.08, 7, 7]), [0, 0, 1, 1]);
    expect(found[1]).toBeCloseTo(1 - 2 * 0.4, 6);
    expect([found[0], found[2], found[3]]).toEqual([1, 1, 1]);
  });

  it('leaves a rollout without a score alone, or gives it the largest z of its group', () => {
    const additive = advantageModification.act({ ...keys, form: 'additive' }, 1);
    const [clean, flag] = [false, true].map((abstained) =>
      rewardsOf(additive, [1, 1, 1], said([0, 2, null], 9, abstained)),
    );
    expect(clean).toEqual([1, -1, 1]);
    expect(flag).toEqual([1, -1, -1]);
  });
});

describe('screening', () => {
  const screens = ({ screen: act }: Acts, own: Watched) => act?.(graded(rewards, own)) ?? [];

  it('leaves flagged rollouts out of the mean, filtering does not', () => {
    const advantages = (acts: Acts) =>
      Array.from(groupAdvantages(Float32Array.from(rewards), 4, 'dr', screens(acts, watched)).values);
    expect(advantages(screen.act({}, 1))).toEqual([0, 1.75, 0, -1.75]);
    expect(advantages(filter.act({}, 1))).toEqual([0, 1.625, 0, -1.875]);
  });

  it('skips a group of fewer than two others', () => {
    const lonely = screens(screen.act({}, 1), said([0.9, 0.9, 0.9, 0.1]));
    expect(groupAdvantages(Float32Array.from(rewards), 4, 'dr', lonely).skipped).toEqual([true]);
  });
});

it('routing: flagged to the quarantine, the others where the config says', () => {
  const scored = { watched } as unknown as ScoredRollouts & { readonly watched: Watched };
  expect(routeRemedy.act({ others: 'absorb', mean: 'group' }, 1).route?.(scored).routes.flat()).toEqual([
    'route',
    'absorb',
    'route',
    'absorb',
  ]);
  const own = routeRemedy.act({ others: 'keep', mean: 'own' }, 1).screen?.(graded(rewards, watched));
  expect(own).toEqual(['apart', 'train', 'apart', 'train']);
  expect(routeRemedy.act({ others: 'keep', mean: 'group' }, 1).screen).toBeUndefined();
  expect(routeRemedy.act({ others: 'keep', mean: 'group' }, 1).route?.(scored).routes.flat()).toEqual([
    'route',
    'keep',
    'route',
    'keep',
  ]);
});

describe('in tables and in the config', () => {
  const arms = watchedArms({ monitors: blindMonitors, cuts: builtinCuts, remedies: builtinRemedies });
  const arm = (kind: string) => {
    const found = arms.find((each) => each.kind === kind);
    if (found === undefined) throw new Error(kind);
    return found;
  };

  it.each([
    ['penalty', { monitor: { kind: 'probe' } }, 'penalty by probe'],
    ['penalty', { monitor: { kind: 'regex', pattern: 'x' }, penalty: 4 }, 'penalty 4 by regex'],
    ['screen', { monitor: { kind: 'probe', cut: 'otsu' } }, 'screen by probe Otsu'],
    ['screen', { monitor: { kind: 'probe', layers: 'mean' } }, 'screen by probe by layer, mean'],
    ['zero', { monitor: { kind: 'probe', layers: 'least', cut: 'otsu' } }, 'zero by probe by layer, least, Otsu'],
    ['filter', { monitor: { kind: 'direction', cut: 'fpr' } }, 'filter by direction at FPR 0.05'],
    [
      'routed',
      { monitor: { kind: 'direction', placebo: 'haar' }, others: 'keep' },
      'routed, others kept, by haar direction',
    ],
    [
      'routed',
      { monitor: { kind: 'direction', placebo: 'reversed', placeboSeed: 3 }, mean: 'own' },
      'routed, own mean, by reversed direction draw 3',
    ],
    ['probe-penalty', { monitor: { kind: 'probe', cut: 'fixed' }, weight: 2 }, 'probe-penalty 2 by probe above 0.67'],
    ['activation-penalty', { monitor: { kind: 'probe' }, lossWeight: 2 }, 'activation-penalty 1 2 by probe'],
    [
      'advantage-modification',
      { monitor: { kind: 'direction' }, form: 'additive' },
      'advantage-modification additive by direction',
    ],
  ])('%s %j is called %s', (kind, settings, label) => {
    expect(arm(kind).label(settings)).toBe(label);
  });

  it('only routing has a quarantine, and labels follow the monitor', () => {
    const named = arms.filter(({ kind }) => kind !== 'watched');
    expect(named.filter(({ quarantine }) => quarantine({})).map(({ kind }) => kind)).toEqual([
      'activation',
      'gradient',
      'routed',
    ]);
    expect(arm('penalty').usesLabels({ monitor: { kind: 'probe' } })).toBe(false);
    expect(arm('penalty').usesLabels({ monitor: { kind: 'probe', labelledRun: 'runs/one' } })).toBe(true);
    expect(arm('penalty').label({ monitor: { kind: 'probe', labelledRun: 'runs/one' } })).toBe(
      'penalty by labelled probe',
    );
  });
});
