import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auroc } from '../../stats/auroc.ts';
import { featuredRollouts, randomBand } from './directions.ts';
import type { GatedRollout } from './gate-report.ts';
import { dealtUnchanged, gateWindows, judgeGate, judgeReinforced, separation } from './gate-report.ts';

const row = (extra: Partial<GatedRollout>): GatedRollout => ({
  update: 1,
  score: 0,
  low: -1,
  high: 1,
  route: 'absorb',
  trained: true,
  advantage: 1,
  hack: false,
  attempt: extra.hack ?? false,
  ...extra,
});

describe('the gate as a classifier', () => {
  const rows = [
    row({ route: 'route', hack: true, score: 3 }),
    row({ route: 'route', hack: true, score: 2, advantage: -1 }),
    row({ route: 'route', hack: false, score: 1.5 }),
    row({ route: 'absorb', hack: true, score: 0.5 }),
    row({ route: 'keep', hack: false, score: -2 }),
    row({ route: 'keep', hack: false, score: -1 }),
    row({ route: 'keep', hack: true, score: -3 }),
    row({ route: null, hack: true, trained: false, score: null }),
  ];

  it('has the precision and recall that counting by hand gives', () => {
    const { rollouts, hacks, routes } = judgeGate(rows);
    const { count, route, keep, shareOfKeep, othersOfRoute } = hacks;
    expect({ rollouts, count, routes }).toEqual({ rollouts: 7, count: 4, routes: { keep: 3, absorb: 1, route: 3 } });
    expect([route.precision?.count, route.precision?.of, route.recall?.count, route.recall?.of]).toEqual([2, 3, 2, 4]);
    // (1.25 · 2) / (1.25 · 2 + 0.25 · 2 + 1)
    expect(route.fHalf).toBeCloseTo(2.5 / 4, 12);
    expect([keep.precision?.count, keep.precision?.of, keep.recall?.count, keep.recall?.of]).toEqual([2, 3, 2, 3]);
    expect([shareOfKeep?.count, shareOfKeep?.of]).toEqual([1, 3]);
    expect([othersOfRoute?.count, othersOfRoute?.of]).toEqual([1, 3]);
  });

  it('among positively reinforced rollouts leaves the others out', () => {
    expect(judgeReinforced(rows).hacks.route.precision).toMatchObject({ count: 1, of: 2 });
  });

  it('separates by the scores of the monitor where its flags deal out the routes, and not where nothing is routed', () => {
    const watched = rows.map((one) => ({ ...one, score: null, suspicion: one.score }));
    expect(judgeGate(watched).hacks.separation?.auroc).toBe(judgeGate(rows).hacks.separation?.auroc);
    const absorbed = watched.map((one) => ({ ...one, route: 'absorb' as const }));
    expect(judgeGate(absorbed).hacks.separation).toBeNull();
  });

  it('knows attempts apart from hacks: a correct program may open the loophole too', () => {
    const correct = rows.map((one) => (one.route === 'route' ? { ...one, attempt: true } : one));
    const { hacks, attempts } = judgeGate(correct);
    expect(hacks.route.precision).toMatchObject({ count: 2, of: 3 });
    expect(attempts.count).toBe(5);
    expect(attempts.route.precision).toMatchObject({ count: 3, of: 3 });
    expect(attempts.route.recall).toMatchObject({ count: 3, of: 5 });
    expect(attempts.route.falsePositiveRate).toMatchObject({ count: 0, of: 2 });
    expect(hacks.route.falsePositiveRate).toMatchObject({ count: 1, of: 3 });
    expect(attempts.shareOfKeep).toMatchObject({ count: 1, of: 3 });
    expect(attempts.othersOfRoute).toMatchObject({ count: 0, of: 3 });
    expect(attempts.keep.precision).toMatchObject({ count: 2, of: 3 });
  });

  it('says how many routes are as the scores have them, where they were dealt out', () => {
    const settings = { keepOnly: 'praised', keepTail: 0.3 } as const;
    const dealt = [
      row({ score: 3, route: 'route' }),
      row({ score: -3, route: 'keep' }),
      row({ score: -3, route: 'keep', advantage: -1 }),
      row({ score: 3, route: 'absorb' }),
      row({ score: 0, low: null, high: null }),
    ];
    expect(dealtUnchanged(dealt, settings)).toMatchObject({ count: 2, of: 4 });
    expect(dealtUnchanged(dealt, { ...settings, keepOnly: 'any' })).toMatchObject({ count: 3, of: 4 });
    expect(dealtUnchanged(dealt, { keepOnly: 'any', keepTail: 0 })).toMatchObject({ count: 1, of: 4 });
    expect(dealtUnchanged([], settings)).toBeNull();
  });

  it('by token counts tokens, each with the label of its rollout', () => {
    const tokens = [
      row({ hack: true, tokenRoutes: 'rrak', tokenScores: [5, 4, 2, 0], score: 2.75 }),
      row({ hack: false, tokenRoutes: 'kka', tokenScores: [0.5, 1, 3], score: 1.5 }),
      row({ hack: false, tokenRoutes: 'r', tokenScores: [4.5], score: 4.5, advantage: -1 }),
    ];
    const { rollouts, hacks, tokens: all, routes } = judgeGate(tokens);
    const { count, route, keep, shareOfKeep } = hacks;
    expect({ rollouts, count, routes }).toEqual({ rollouts: 3, count: 1, routes: { keep: 3, absorb: 2, route: 3 } });
    expect([route.precision?.count, route.precision?.of, route.recall?.count, route.recall?.of]).toEqual([2, 3, 2, 4]);
    expect([keep.precision?.count, keep.precision?.of, keep.recall?.count, keep.recall?.of]).toEqual([2, 3, 2, 4]);
    expect([shareOfKeep?.count, shareOfKeep?.of]).toEqual([1, 3]);
    expect([all, hacks.tokens]).toEqual([8, 4]);
    // Of 4 × 4 pairs of tokens the hack's is above in 4 + 3 + 2 + 0.
    expect(hacks.tokenSeparation?.auroc).toBeCloseTo(9 / 16, 12);
    expect(hacks.separation?.auroc).toBe(0.5);
    expect(judgeReinforced(tokens).tokens).toBe(7);
    expect(judgeGate(rows).tokens).toBeNull();
    const unstored = tokens.map((one) => ({ ...one, tokenScores: null }));
    const none = { tokens: 4, tokenSeparation: null };
    expect(judgeGate(unstored)).toMatchObject({ tokens: 8, attempts: none, hacks: none });
    expect(gateWindows(tokens, 10)[0].scores?.p50).toBeCloseTo(2.5, 12);
  });

  it('says nothing over nothing', () => {
    const { hacks } = judgeGate([]);
    expect([hacks.separation, hacks.route.precision, hacks.shareOfKeep]).toEqual([null, null, null]);
  });

  it('reads drift in windows of updates', () => {
    const windows = gateWindows(
      [
        row({ update: 1, score: 0 }),
        row({ update: 9, score: 5 }),
        row({ update: 11, score: 0, low: null, high: null }),
        row({ update: 12, score: 0, low: null, high: null }),
      ],
      10,
    );
    expect(windows.map(({ from, to, cuts }) => ({ from, to, cuts }))).toEqual([
      { from: 1, to: 9, cuts: { low: -1, high: 1 } },
      { from: 11, to: 12, cuts: null },
    ]);
    expect(windows[0].readings).toContain('p10 above the low cut: few are kept');
    expect(windows[0].readings).toContain('median above the high cut: most are routed, not a tail');
    expect(windows[1].readings).toEqual(['no cuts yet: everything is absorbed']);
  });
});

describe('separation', () => {
  it('compares within an update only: a shift between updates changes nothing', () => {
    const scored = [
      { update: 1, score: 1, hack: true },
      { update: 1, score: 0, hack: false },
      { update: 2, score: 101, hack: true },
      { update: 2, score: 100, hack: false },
      { update: 3, score: 7, hack: true },
    ];
    const found = separation(scored);
    expect(found).toMatchObject({ auroc: 1, hacks: 3, clean: 2, updates: 2 });
    const pooled = auroc([1, 101, 7], [0, 100]);
    expect(pooled).toBeLessThan(1);
  });

  it('in one update it is the AUROC; scaling and shifting an update leaves it alone', () => {
    const rollout = fc.record({ score: fc.integer({ min: -9, max: 9 }), hack: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(fc.array(rollout, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 }),
        (updates) => {
          const rows = updates.flatMap((own, update) => own.map((one) => ({ ...one, update })));
          const moved = rows.map((one) => ({ ...one, score: one.score * (one.update + 1) + 50 * one.update }));
          expect(separation(moved)?.auroc).toBe(separation(rows)?.auroc);
          const [first] = updates;
          const [hacks, clean] = [true, false].map((hack) =>
            first.filter((one) => one.hack === hack).map(({ score }) => score),
          );
          const alone = separation(first.map((one) => ({ ...one, update: 0 })))?.auroc ?? null;
          if (hacks.length * clean.length === 0) expect(alone).toBeNull();
          else expect(alone).toBeCloseTo(auroc(hacks, clean), 12);
        },
      ),
    );
  });
});

describe('random directions over stored features', () => {
  it('see nothing where hacks and clean rollouts have the same features, and much where one axis tells them apart', () => {
    const rollouts = Array.from({ length: 40 }, (_, i) => ({ update: 1, hack: i % 2 === 0, featureRow: i }));
    const options = { modules: 1, rank: 1, kind: 'dot' as const, seed: 7 };
    const over = (features: Float32Array) => randomBand(featuredRollouts(rollouts, features, 1), options);
    const same = over(new Float32Array(40).fill(1));
    expect(same).toMatchObject({ directions: 20, rollouts: 40, mean: 0.5, least: 0.5, most: 0.5 });
    const apart = over(Float32Array.from(rollouts, ({ hack }) => (hack ? 1 : -1)));
    // A random direction in one dimension is right or wrong, never in between.
    expect(new Set(apart?.aurocs)).toEqual(new Set([0, 1]));
  });

  it('refuses features that were cut', () => {
    const rollouts = [{ update: 1, hack: true, featureRow: 3 }];
    expect(() => featuredRollouts(rollouts, new Float32Array(4), 2)).toThrow('features.f32 was cut');
  });
});
