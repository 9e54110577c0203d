/** Cuts, abstentions and what is refused, with numbers worked out by hand. */
import { describe, expect, it } from 'vitest';
import type { GradedRollouts, Policy } from '../grpo/index.ts';
import { seesNothing } from '../grpo/index.ts';
import { cutOfRule, fprCut } from './cuts.ts';
import type { CutRule, Monitor, MonitorReport } from './monitor.ts';
import { type Abstain, openInTime, watchHooks } from './watch.ts';

const shown = (count: number) => ({ rollouts: Array.from({ length: count }) }) as unknown as GradedRollouts;
const fixed = (value: number): CutRule => ({ kind: 'fixed', value });

function watching(answer: unknown, extra: Partial<Monitor> = {}, abstain: Abstain = 'error') {
  const monitor = { sees: seesNothing, cut: fixed(0.5), score: () => answer, ...extra } as Monitor;
  return watchHooks(monitor, 'own', abstain);
}

describe('cuts', () => {
  it('fpr: at most the given share of clean scores is above', () => {
    const clean = Float64Array.from({ length: 20 }, (_, i) => i + 1);
    expect(fprCut(clean, 0.05)).toBe(19);
    expect(fprCut(clean, 0)).toBe(20);
    expect(fprCut(clean, 0.049)).toBe(20);
    expect(fprCut(clean, 0.5)).toBe(10);
    expect(fprCut([7], 0.9)).toBe(7);
  });

  it('otsu: between two heaps, once there are enough scores', () => {
    const rule: CutRule = { kind: 'otsu', warmupRows: 6, halfLife: null };
    const otsuCut = (scores: Float64Array, own: CutRule) =>
      cutOfRule(own).find({ scores, clean: () => [] })?.high ?? null;
    const scores = Float64Array.of(0, 10, 1, 11, 2, 12);
    expect(otsuCut(scores, rule)).toBe(2);
    expect(otsuCut(scores.slice(0, 5), rule)).toBeNull();
    expect(otsuCut(new Float64Array(6), rule)).toBeNull();
    // The far score is the oldest: it draws the cut to itself until it has faded.
    const drifting = Float64Array.of(30, 0, 1, 9, 8);
    expect(otsuCut(drifting, { ...rule, warmupRows: 0 })).toBe(9);
    expect(otsuCut(drifting, { ...rule, warmupRows: 0, halfLife: 0.5 })).toBe(1);
  });

  it('flag what is above, not what is at the cut', async () => {
    const { watch } = watching([0.4, 0.5, 0.6]);
    expect(await watch(shown(3))).toMatchObject({
      flagged: [false, false, true],
      cut: 0.5,
      abstentions: {},
      costs: {},
    });
    // As float32 the scores are larger than 0.1 and 0.6.
    expect(await watching([0.1, 0.2], { cut: fixed(0.1) }).watch(shown(2))).toMatchObject({ flagged: [false, true] });
    expect(await watching([0.6, 0.7], { cut: fixed(0.6) }).watch(shown(2))).toMatchObject({ flagged: [false, true] });
    const byClean = watching([4, 5], { cut: { kind: 'fpr', rate: 0.25 }, cleanScores: () => [1, 2, 4, 9] });
    expect(await byClean.watch(shown(2))).toMatchObject({ flagged: [false, true], cut: 4 });
  });

  it('otsu remembers the scores of earlier updates, also after a resume', async () => {
    const cut: CutRule = { kind: 'otsu', warmupRows: 4, halfLife: null };
    let scores = [0, 10.1];
    const monitor: Partial<Monitor> = { cut, score: () => scores };
    const first = watching(null, monitor);
    expect(await first.watch(shown(2))).toMatchObject({ flagged: [false, false], cut: null });
    const second = watching(null, monitor);
    second.restore(first.save());
    scores = [1, 11];
    const expected = await first.watch(shown(2));
    expect(expected).toMatchObject({ flagged: [false, true], cut: 1 });
    expect(await second.watch(shown(2))).toEqual(expected);
  });

  it.each([
    undefined,
    { kind: 'median' },
    { kind: 'fixed' },
    { kind: 'fixed', value: Number.NaN },
    { kind: 'fixed', value: '0.5' },
    { kind: 'fpr' },
    { kind: 'fpr', rate: 5 },
    { kind: 'otsu', warmupRows: 2 },
    { kind: 'otsu', warmupRows: 2, halfLife: 0 },
  ])('that would flag nothing or anything are refused at once: %j', (cut) => {
    expect(() => watching([1], { cut: cut as unknown as CutRule })).toThrow(
      "monitor own: expected cut: { kind: 'fixed'",
    );
  });

  it('fpr without clean scores is an error', async () => {
    const { watch } = watching([1], { cut: { kind: 'fpr', rate: 0.05 } });
    await expect(watch(shown(1))).rejects.toThrow(
      'monitor own, cut "fpr": expected finite scores of clean completions',
    );
  });
});

describe('abstentions', () => {
  const report = () => ({ abstentions: { late: 1 }, costs: { requests: 3 } });

  it.each([
    ['clean', [true, false, false]],
    ['flag', [true, true, true]],
  ] as const)('count as %s where the config says so', async (abstain, flagged) => {
    const { watch } = watching([0.9, null, null], { report }, abstain);
    expect(await watch(shown(3))).toEqual({
      scores: [Math.fround(0.9), null, null],
      flagged,
      cut: 0.5,
      abstentions: { late: 1, 'no reason given': 1 },
      costs: { requests: 3 },
    });
  });

  it.each([Number.NaN, -1, 0.5, '1'])('are counted: %s is no count, and never a clean rollout', async (count) => {
    const odd = () => ({ abstentions: { late: count } }) as ReturnType<NonNullable<Monitor['report']>>;
    await expect(watching([0.9, null], { report: odd }).watch(shown(2))).rejects.toThrow(
      `monitor own, report: expected abstentions: whole numbers by name, found ${count} as late`,
    );
  });

  it('stop the run by default, and say why', async () => {
    await expect(watching([0.9, null], { report }).watch(shown(2))).rejects.toThrow(
      'monitor own: expected a score for each of 2 rollouts (abstain = "error"), found abstentions: late (1)',
    );
  });

  it.each([
    [{ abstentions: { late: Number.NaN } }, 'expected abstentions: whole numbers by name, found NaN as late'],
    [{ abstentions: { late: -5 } }, 'found -5 as late'],
    [{ abstentions: null }, 'expected abstentions: whole numbers by name, found null'],
    [{ abstentions: { late: 2 } }, 'expected at most 1 abstentions, as many as scores that are null, found 2'],
    [{ costs: { tokens: 'many' } }, 'expected costs: whole numbers by name, found many as tokens'],
  ])('and costs are counted rightly: %j is refused', async (wrong, message) => {
    const own = { report: () => wrong as unknown as MonitorReport };
    await expect(watching([1, null], own, 'clean').watch(shown(2))).rejects.toThrow(message);
  });
});

describe('a monitor', () => {
  it.each([
    ['no list', 3, 'expected a list of scores, found number'],
    ['too many', [1, 2, 3], 'expected 2 scores, one per rollout, found 3'],
    ['not a number', [1, Number.NaN], 'expected finite scores, found NaN for rollout 1'],
    ['infinite as a float32', [1, 1e300], 'expected finite scores, found 1e+300 for rollout 1'],
    ['text', [1, '0.5'], 'expected finite scores, found string 0.5 for rollout 1'],
  ])('that answers wrongly is named: %s', async (_, answer, message) => {
    await expect(watching(answer).watch(shown(2))).rejects.toThrow('monitor own');
    await expect(watching(answer).watch(shown(2))).rejects.toThrow(message);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'is never shown activations of %s: whatever it made of them would be a reward',
    async (value) => {
      const features = { rows: 2, modules: 1, rank: 2, data: Float32Array.of(0, 1, value, 2) };
      const seen = { ...shown(2), features } as unknown as GradedRollouts;
      await expect(watching([0, 0], {}, 'clean').watch(seen)).rejects.toThrow(
        `monitor own: expected finite activations of the policy, found ${value} in row 1`,
      );
    },
  );

  it('is shown no rewards, and cannot change what the other hooks are shown', async () => {
    const seen = { step: 0, features: null, rollouts: [{ group: 0 }, { group: 1 }] };
    const graded = { ...seen, rewards: Float32Array.of(3, 0) } as unknown as GradedRollouts;
    const names: string[] = [];
    const score: Monitor['score'] = (shownToIt) => {
      names.push(...Object.keys(shownToIt));
      const rollouts = shownToIt.rollouts as unknown as { group: number }[];
      rollouts[0].group = 7;
      rollouts.reverse();
      return [0, 0];
    };
    await watching(null, { score }).watch(graded);
    expect(names.sort()).toEqual(['features', 'rollouts', 'step']);
    expect(graded.rollouts).toEqual([{ group: 0 }, { group: 1 }]);
  });

  it.each([
    [{ cleanscores: () => [1] }, 'found cleanscores. Is it misspelt?'],
    [{ save: () => ({ json: 5, tensors: new Map() }) }, 'expected save and restore together, found save alone'],
    [{ report: {} }, 'expected a function as report'],
    [{ score: undefined }, 'expected a function as score'],
    [{ mostSeconds: Number.NaN }, 'expected mostSeconds above 0, found NaN'],
    [{ mostSeconds: '60' }, 'expected mostSeconds above 0, found 60'],
  ])('of which a part would be passed over is refused: %j', (extra, message) => {
    expect(() => watching([1], extra as unknown as Partial<Monitor>)).toThrow(message);
  });

  it('that never answers stops the run', async () => {
    const never = { score: () => new Promise<never>(() => undefined), mostSeconds: 0.01 };
    await expect(watching(null, never, 'clean').watch(shown(2))).rejects.toThrow(
      'monitor own: expected scores within 0.01 seconds, found none',
    );
  });

  it('that is never ready stops the run: refresh, and open', async () => {
    const never = { refresh: () => new Promise<never>(() => undefined), mostSeconds: 0.01 };
    await expect(watching([], never).refresh(0, {} as Policy)).rejects.toThrow(
      'monitor own, refresh: expected an end within 0.01 seconds, found none',
    );
    await expect(openInTime(new Promise<never>(() => undefined), 'own', 0.01)).rejects.toThrow(
      'monitor own, open: expected a monitor within 0.01 seconds, found none',
    );
  });

  it.each([
    [5, 'found 5'],
    [{ direction: [1], quality: {}, pairCuts: null }, 'found ["direction","quality","pairCuts"]'],
    [{ direction: Float32Array.of(Number.NaN), quality: {}, pairCuts: null }, 'of finite numbers'],
  ])('that builds what cannot be recorded is refused: %j', async (built, message) => {
    const refresh = (async () => built) as unknown as NonNullable<Monitor['refresh']>;
    await expect(watching([], { refresh }).refresh(0, {} as Policy)).rejects.toThrow(message);
  });

  it('must report at once', async () => {
    const report = (async () => ({ costs: { passes: 1 } })) as unknown as () => MonitorReport;
    await expect(watching([1], { report }).watch(shown(1))).rejects.toThrow('at once, found a promise');
  });

  it('keeps its own state beside the scores', () => {
    const tensor = { shape: [1], data: Float32Array.of(4) };
    const saved: unknown[] = [];
    const hooks = watching([], {
      save: () => ({ json: 'own', tensors: new Map([['watched scores', tensor]]) }),
      restore: (state) => saved.push(state),
    });
    hooks.restore(hooks.save());
    expect(saved).toEqual([{ json: 'own', tensors: new Map([['watched scores', tensor]]) }]);
  });

  it.each([5, null, { json: 5 }])('must save a state that can be given back: %j is refused', (state) => {
    const own = { save: () => state, restore: () => undefined } as unknown as Partial<Monitor>;
    expect(() => watching([], own).save()).toThrow('monitor own, save: expected { json, tensors: a Map }');
  });

  it('is refreshed before an update', async () => {
    const steps: number[] = [];
    const refresh = async (step: number) => {
      steps.push(step);
      return null;
    };
    const hooks = watching([], { refresh });
    expect(await hooks.refresh(4, {} as Policy)).toBeNull();
    expect(steps).toEqual([4]);
  });
});
