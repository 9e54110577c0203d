/** What an arm is shown: features and text only if it asked, features early if its hooks need them early, and never labels. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { showTokens, TinyLab, type TinyOptions, type TinyStep } from '../../test/grpo/tiny-lab.ts';
import { tokens } from '../../test/grpo/tiny-policy.ts';
import {
  type Arm,
  absorbAll,
  type GradedRollouts,
  type ScoredRollouts,
  type SeenRollouts,
  type Sight,
  seesNothing,
} from './arm.ts';
import { joinFeatures, probeGradients, scoreRollouts } from './policy.ts';

let lab: TinyLab;
beforeAll(async () => {
  lab = await TinyLab.open();
});
afterAll(() => lab[Symbol.dispose]());

const kinds = ['activation', 'gradient'] as const;
const granularities = ['rollout', 'token'] as const;
const cases = kinds.flatMap((kind) => granularities.map((granularity) => ({ kind, granularity })));
/** Rewards of two groups; the second group has nothing to learn. */
const oneGroup = [3, 0, 1, 0, 1, 1, 1, 1];

interface Watched extends TinyStep {
  readonly reward: GradedRollouts | null;
  readonly screen: GradedRollouts | null;
  readonly route: ScoredRollouts | null;
}

/** One update under an arm whose named hooks change nothing and record what they were shown. */
async function watch(sees: Sight, hooks: readonly ('reward' | 'screen' | 'route')[], options: TinyOptions = {}) {
  const shown: { reward: GradedRollouts | null; screen: GradedRollouts | null; route: ScoredRollouts | null } = {
    reward: null,
    screen: null,
    route: null,
  };
  const all: Required<Pick<Arm, 'reward' | 'screen' | 'route'>> = {
    reward(graded) {
      shown.reward = graded;
      return graded.rewards;
    },
    screen(graded) {
      shown.screen = graded;
      return graded.rollouts.map(() => 'train');
    },
    route(scored) {
      shown.route = scored;
      return absorbAll(scored.rollouts.length);
    },
  };
  const arm = { sees, ...Object.fromEntries(hooks.map((hook) => [hook, all[hook]])) };
  const done = await lab.step(arm, options);
  return { ...done, ...shown } satisfies Watched;
}

/** Features of rollouts, computed directly. */
async function featuresOf({ outcome }: TinyStep, { kind, granularity }: (typeof cases)[number]) {
  const rows =
    kind === 'gradient'
      ? await probeGradients(lab.policy, outcome.rollouts, granularity, 512)
      : (await scoreRollouts(lab.policy, outcome.rollouts, () => 0, { tokensPerPass: 512, pool: granularity }))
          .features;
  return rows;
}

describe('features', () => {
  it.each(cases)('of all rollouts reach a reward hook before advantages: $kind by $granularity', async (features) => {
    const sees = { features, text: false };
    const watched = await watch(sees, ['reward', 'screen', 'route'], { rewards: oneGroup });
    const rows = await featuresOf(watched, features);
    const all = joinFeatures(lab.policy.adapter, rows);
    const { rollouts } = watched.outcome;
    expect(all.rows).toBe(features.granularity === 'rollout' ? 8 : rollouts.flatMap((own) => [...own.tokens]).length);
    expect(watched.reward?.rollouts).toHaveLength(8);
    expect(watched.reward?.features).toEqual(all);
    expect(watched.screen?.features).toEqual(all);
    expect(watched.outcome.trained).toEqual([0, 1, 2, 3]);
    expect(watched.route?.rollouts).toHaveLength(4);
    expect(watched.route?.features).toEqual(joinFeatures(lab.policy.adapter, rows.slice(0, 4)));
    expect(watched.outcome.features).toEqual(rows.slice(0, 4));
  });

  it.each(cases)('come late, of what is trained, without such a hook: $kind by $granularity', async (features) => {
    const sees = { features, text: false };
    const late = await watch(sees, ['route'], { rewards: oneGroup });
    expect(late.passes.grade).toBe(0);
    expect(late.route?.features?.rows).toBe(
      features.granularity === 'rollout' ? 4 : late.route?.rollouts.reduce((sum, { length }) => sum + length, 0),
    );
    const early = await watch(sees, ['screen', 'route']);
    const { outcome, values, gradients } = await watch(sees, ['route']);
    expect({ ...early.outcome, screening: null }).toEqual(outcome);
    expect(early.values).toEqual(values);
    expect(early.gradients).toEqual(gradients);
  });

  it.each([
    { what: 'early', kind: 'activation' as const, hooks: ['reward'] as const, grade: 0, score: 2 },
    { what: 'early for a screen', kind: 'activation' as const, hooks: ['screen'] as const, grade: 0, score: 2 },
    { what: 'late', kind: 'activation' as const, hooks: ['route'] as const, grade: 0, score: 2 },
    { what: 'early', kind: 'gradient' as const, hooks: ['reward', 'screen'] as const, grade: 0, score: 3 },
    { what: 'late', kind: 'gradient' as const, hooks: ['route'] as const, grade: 0, score: 3 },
    { what: 'not at all', kind: null, hooks: ['reward', 'screen', 'route'] as const, grade: 0, score: 2 },
  ])('cost as many passes $what ($kind)', async ({ kind, hooks, grade, score }) => {
    const features = kind === null ? null : ({ kind, granularity: 'rollout' } as const);
    const { passes, reward, route } = await watch({ features, text: false }, hooks);
    expect(passes).toMatchObject({ grade, score, route: 0, learn: 1 });
    if (kind === null) expect([reward?.features, route?.features]).toEqual([null, null]);
  });
});

describe('words', () => {
  it('are shown where they were asked for', async () => {
    const { outcome, reward, screen, route } = await watch({ features: null, text: true }, [
      'reward',
      'screen',
      'route',
    ]);
    const texts = outcome.rollouts.map(({ prompt, tokens: own }) => ({
      prompt: `prompt ${showTokens(prompt)}`,
      completion: `completion ${showTokens(own)}`,
    }));
    for (const shown of [reward, screen, route]) expect(shown?.rollouts.map(({ text }) => text)).toEqual(texts);
  });

  it('and nowhere else', async () => {
    const features = { kind: 'activation', granularity: 'rollout' } as const;
    for (const sees of [seesNothing, { features, text: false }]) {
      const { reward, screen, route } = await watch(sees, ['reward', 'screen', 'route']);
      for (const shown of [reward, screen, route]) {
        expect(shown?.rollouts.map(({ text }) => text)).toEqual(Array(8).fill(null));
        expect(JSON.stringify(shown)).not.toMatch(/prompt|completion/);
      }
    }
  });
});

it('which prompts are sound is told where it was asked for, and nowhere else', async () => {
  const [asked, others] = [{ ...seesNothing, sound: true }, seesNothing];
  const changes = { seed: 3 };
  const { outcome, reward, screen, route } = await watch(asked, ['reward', 'screen', 'route'], { changes });
  const sound = outcome.rollouts.map(({ hackable }) => !hackable);
  expect(new Set(sound).size).toBe(2);
  for (const shown of [reward, screen, route]) {
    expect(shown?.rollouts.map((rollout) => rollout.sound)).toEqual(sound);
  }
  const hidden = await watch(others, ['reward'], { changes });
  for (const rollout of hidden.reward?.rollouts ?? []) expect(rollout).not.toHaveProperty('sound');
});

describe('nothing else', () => {
  const pool = {
    hacks: new Map(['a', 'b'].map((id) => [id, [tokens(`hack ${id}`, 3)]])),
    solves: new Map(['a', 'b'].map((id) => [id, [tokens(`solve ${id}`, 4)]])),
  };
  const seenKeys = ['group', 'id', 'length', 'member', 'sampled', 'step', 'text', 'truncated'];
  const keys = (value: object | null | undefined): string[] => Object.keys(value ?? {}).sort();
  const keysWithin = (value: unknown): string[] => {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
    return Object.entries(value).flatMap(([key, own]) => [...(Array.isArray(value) ? [] : [key]), ...keysWithin(own)]);
  };

  it('is shown: the keys are these, however much an arm asks for', async () => {
    const features = { kind: 'gradient', granularity: 'token' } as const;
    const changes = { teacher: { offStep: 1 }, environment: { unhackableFraction: 0 } };
    const { outcome, reward, screen, route } = await watch({ features, text: true }, ['reward', 'screen', 'route'], {
      pool,
      changes,
    });
    expect(new Set(outcome.rollouts.map(({ source }) => source)).size).toBe(3);
    expect(keys(reward)).toEqual(['features', 'rewards', 'rollouts', 'step']);
    expect(keys(screen)).toEqual(['features', 'rewards', 'rollouts', 'step']);
    expect(keys(route)).toEqual(['advantages', 'features', 'rollouts', 'step']);
    for (const shown of [reward, screen, route] as (SeenRollouts | null)[]) {
      for (const rollout of shown?.rollouts ?? []) {
        expect(keys(rollout)).toEqual(seenKeys);
        expect(keys(rollout.text)).toEqual(['completion', 'prompt']);
      }
      expect(keys(shown?.features)).toEqual(['data', 'modules', 'rank', 'rows']);
      const forbidden =
        /source|verdict|label|exploit|correct|hack|loophole|channel|passed|problem|task|markers|outcome/i;
      expect(keysWithin(shown).filter((key) => forbidden.test(key))).toEqual([]);
      // A demonstration looks like a rollout of the full policy.
      expect(shown?.rollouts.map(({ sampled }) => sampled)).toEqual(outcome.rollouts.map(({ sampled }) => sampled));
      expect(JSON.stringify(shown?.rollouts)).not.toMatch(/teacher|student|solve|run_tests|gt_only/);
    }
  });
});
