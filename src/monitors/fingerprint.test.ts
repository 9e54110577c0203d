/** Gradient fingerprints: clusters and scores worked out by hand, the placebos, and a monitor that goes on as if nothing had been. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TinyLab } from '../../test/grpo/tiny-lab.ts';
import { tinyPairs } from '../../test/grpo/tiny-policy.ts';
import type { Features } from '../adapters/index.ts';
import { type ArmTools, type Policy, pairFeatures, type SeenRollouts } from '../grpo/index.ts';
import { clusterCentres, fingerprintMonitor, fingerprints, membership, placeboCentres } from './fingerprint.ts';

const row = (...values: number[]) => Float32Array.from(values);
const near = (values: ArrayLike<number>) => Array.from(values, (value) => expect.closeTo(value, 6));

describe('two clusters that the pairs name', () => {
  const sides = { hack: [row(1, 0)], clean: [row(0, 1)] };
  const rollouts = [row(0.8, 0.6), row(0.6, 0.8), row(-0.6, 0.8)];

  it('are those of three rounds by hand', () => {
    // Round 1, centres (1, 0) and (0, 1): the first rollout is a hack (0.4 < 0.8), the others are not (0.4 < 0.8 and 0.4 < 3.2).
    // Round 2, centres (0.9, 0.3) and (0, 13/15): the second is now nearer to the hacks (0.34 < 0.3644). Round 3 changes nothing.
    const centres = clusterCentres(sides, rollouts);
    expect(Array.from(centres.hack)).toEqual(near([0.8, 7 / 15]));
    expect(Array.from(centres.clean)).toEqual(near([-0.3, 0.9]));
    // Squared distances of the second rollout: 0.04 + 1/9 from the hacks, 0.82 from the others.
    expect(membership(rollouts[1], centres)).toBeCloseTo(1 / (1 + Math.exp(0.04 + 1 / 9 - 0.82)), 6);
    expect(rollouts.map((each) => membership(each, centres) > 0.5)).toEqual([true, true, false]);
  });

  it('are the means of the sides while there are no rollouts, and a side stays in its own', () => {
    expect(clusterCentres(sides, [])).toEqual({ hack: Float64Array.of(1, 0), clean: Float64Array.of(0, 1) });
    const lone = clusterCentres(sides, [row(0, -1), row(0.6, -0.8)]);
    expect(Array.from(lone.clean)).toEqual([0, 1]);
  });

  it('of a row of zeros and of any length: only the angle counts', () => {
    const features: Features = { rows: 3, modules: 1, rank: 2, data: row(3, 4, 0.03, 0.04, 0, 0) };
    expect(fingerprints(features).map((each) => Array.from(each))).toEqual([
      near([0.6, 0.8]),
      near([0.6, 0.8]),
      [0, 0],
    ]);
  });

  it('have placebos: changed names, and a random axis with the same middle and distance', () => {
    const centres = clusterCentres(sides, rollouts);
    expect(placeboCentres(centres, 'none', 1)).toBe(centres);
    const reversed = placeboCentres(centres, 'reversed', 1);
    for (const each of rollouts) expect(membership(each, reversed)).toBeCloseTo(1 - membership(each, centres), 12);
    const haar = placeboCentres(centres, 'haar', 1);
    const middle = ({ hack, clean }: typeof haar) => Array.from(hack, (value, i) => (value + clean[i]) / 2);
    const distance = ({ hack, clean }: typeof haar) => Math.hypot(...hack.map((value, i) => value - clean[i]));
    expect(middle(haar)).toEqual(near(middle(centres)));
    expect(distance(haar)).toBeCloseTo(distance(centres), 6);
    expect(haar).not.toEqual(centres);
    expect(placeboCentres(centres, 'haar', 1)).toEqual(haar);
    expect(placeboCentres(centres, 'haar', 2)).not.toEqual(haar);
  });
});

describe('the monitor', () => {
  let lab: TinyLab;
  beforeAll(async () => {
    lab = await TinyLab.open();
  });
  afterAll(() => lab[Symbol.dispose]());
  const pairs = tinyPairs;
  const open = (settings: object) =>
    fingerprintMonitor.open(settings, { seed: 1, policy: lab.policy, tokensPerPass: 64, pairs } as unknown as ArmTools);
  const seen = (features: Features) => ({ features }) as SeenRollouts;
  const read = () => pairFeatures(lab.policy, pairs, { kind: 'gradient', tokensPerPass: 64 });

  it('sees gradients alone, and clusters its last rollouts from the sides of the pairs', async () => {
    const [monitor, { hack, clean }] = [await open({ memoryRows: 8 }), await read()];
    expect(monitor.sees).toEqual({ features: { kind: 'gradient', granularity: 'rollout' }, text: false });
    await monitor.refresh?.(0, lab.policy);
    const sides = { hack: fingerprints(hack), clean: fingerprints(clean) };
    const first = await monitor.score(seen(hack));
    const alone = clusterCentres(sides, sides.hack);
    expect(first).toEqual(sides.hack.map((each) => membership(each, alone)));
    // Twelve rollouts were seen: the last eight are clustered.
    const both = clusterCentres(sides, [...sides.hack.slice(4), ...sides.clean]);
    expect(await monitor.score(seen(clean))).toEqual(sides.clean.map((each) => membership(each, both)));
    expect(monitor.cleanScores?.()).toHaveLength(6);
  });

  it('goes on from what it saved, and reads the pairs again when they are due', async () => {
    const [monitor, { hack, clean }] = [await open({ refreshEvery: 3 }), await read()];
    await monitor.refresh?.(0, lab.policy);
    await monitor.score(seen(hack));
    const saved = monitor.save?.();
    const resumed = await open({ refreshEvery: 3 });
    if (saved !== undefined) resumed.restore?.(saved);
    expect(resumed.save?.()).toEqual(saved);
    expect(await resumed.score(seen(clean))).toEqual(await monitor.score(seen(clean)));
    const nobody = {} as Policy;
    expect(await resumed.refresh?.(4, nobody)).toBeNull();
    await expect(resumed.refresh?.(3, nobody)).rejects.toThrow();
  });

  it('has the sides of half of the pairs swapped as a placebo, and says in its name which one it is', async () => {
    const [plain, shuffled] = [await open({}), await open({ placebo: 'shuffled', placeboSeed: 3 })];
    for (const each of [plain, shuffled]) await each.refresh?.(0, lab.policy);
    const rows = (monitor: typeof plain, side: string) => Array.from(monitor.save?.().tensors.get(side)?.data ?? []);
    const width = rows(plain, 'hack').length / 6;
    const moved = Array.from({ length: 6 }, (_, i) => i).filter(
      (i) => rows(shuffled, 'hack')[i * width] === rows(plain, 'clean')[i * width],
    );
    expect(moved).toHaveLength(3);
    expect(fingerprintMonitor.label({ placebo: 'shuffled', placeboSeed: 3 })).toBe('shuffled fingerprint draw 3');
    expect(fingerprintMonitor.usesLabels({})).toBe(false);
  });
});
