import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Features } from '../adapters/features.ts';
import { randomStream } from '../base/rng.ts';
import { FeatureBuffer } from './buffer.ts';
import { buildDirection, haarDirection, judgeDirection, pairDirection, scoreFeatures } from './direction.ts';
import { Gate, type GateSettings, routeOf } from './gate.ts';

function features(rows: readonly (readonly number[])[], modules = 1): Features {
  const data = Float32Array.from(rows.flat());
  return { rows: rows.length, modules, rank: rows[0].length / modules, data };
}

const settings: GateSettings = {
  calibration: 'quantile',
  score: 'dot',
  tail: 0.1,
  keepTail: null,
  halfLife: null,
  bufferRows: 1000,
  warmupRows: 0,
  keepOnly: 'any',
  bufferTokens: null,
};
/** A gate in one dimension: a row is its score. */
const line = (changes: Partial<GateSettings> = {}) =>
  new Gate({ ...settings, ...changes }, { modules: 1, rank: 1, data: Float32Array.of(1) });
const scores = (...values: number[]) => features(values.map((value) => [value]));
/** What a gate makes of rollouts that have one row each; the routes and scores of the rollouts. */
function decide(gate: Gate, rollouts: Features, advantages: readonly number[] = []) {
  const width = rollouts.modules * rollouts.rank;
  const rows = Array.from({ length: rollouts.rows }, (_, i) =>
    gate.condense({ data: rollouts.data.subarray(i * width, (i + 1) * width) }),
  );
  const decision = gate.calibrate(rows).route(rows, advantages);
  return { ...decision, routes: decision.routes.flat() };
}

describe('directions', () => {
  it('from pairs: the unit mean difference of every module', () => {
    const hack = features([[3, 0, 0, 5], [5, 0, 0, 1]], 2); // biome-ignore format: rows
    const clean = features([[0, 0, 0, 2], [0, 0, 0, 2]], 2); // biome-ignore format: rows
    expect(Array.from(pairDirection(hack, clean, { standardise: false }).data)).toEqual([1, 0, 0, 1]);
    const placebo = (kind: 'reversed' | 'shuffled', seed = 1) =>
      Array.from(buildDirection(hack, clean, { standardise: false, placebo: kind, seed }).data);
    expect(placebo('reversed')).toEqual([-1, -0, -0, -1]);
    // Of two pairs one is swapped: (3 − 5, 0) and (0, 3 + 1) or the opposite; which one is a matter of the seed.
    const draws = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => placebo('shuffled', seed).map(Math.sign).join());
    expect([...new Set(draws)].sort()).toEqual(['-1,0,0,1', '1,0,0,-1']);
    const still = pairDirection(clean, clean, { standardise: false });
    expect(Array.from(still.data)).toEqual([0, 0, 0, 0]);
    expect(() => pairDirection(hack, features([[0, 0, 0, 0]], 2), { standardise: false })).toThrow(
      'two sides of the same pairs',
    );
  });

  it('orthogonal to solve: what it shares with the mean clean feature is gone, module by module', () => {
    const hack = features([[3, 1, 2, 0], [5, 3, 2, 0]], 2); // biome-ignore format: rows
    const clean = features([[2, 0, 0, 0], [2, 0, 0, 0]], 2); // biome-ignore format: rows
    // Differences [2, 2] and [2, 0]; the clean mean is [2, 0] and nothing.
    const plain = pairDirection(hack, clean, { standardise: false, orthogonalTo: 'none' });
    expect(plain.data[0]).toBeCloseTo(Math.SQRT1_2, 6);
    const { data } = pairDirection(hack, clean, { standardise: false, orthogonalTo: 'solve' });
    expect(Array.from(data)).toEqual([0, 1, 1, 0]);
    // Differences [2, 2] and [1, 3], clean means [2, 0] and [0, 1]: each module loses its own.
    const both = pairDirection(features([[4, 2, 1, 4]], 2), features([[2, 0, 0, 1]], 2), { standardise: false, orthogonalTo: 'solve' }); // biome-ignore format: one line
    expect(Array.from(both.data)).toEqual([0, 1, 1, 0]);
    // The standardised difference is projected too, and a difference along the clean mean leaves nothing.
    const along = pairDirection(features([[4, 4]]), features([[1, 1]]), { standardise: false, orthogonalTo: 'solve' });
    expect(Array.from(along.data)).toEqual([0, 0]);
    const steady = pairDirection(hack, clean, { standardise: true, orthogonalTo: 'solve' });
    expect(steady.data[0]).toBe(0);
  });

  it('standardised: a small steady difference outweighs a large erratic one, and no component exceeds three', () => {
    const hack = features([[0.1, 9], [0.1, -7], [0.11, 3]]); // biome-ignore format: rows
    const clean = features([[0, 0], [0, 0], [0, 0]]); // biome-ignore format: rows
    const [steady, erratic] = pairDirection(hack, clean, { standardise: true }).data;
    expect(steady).toBeGreaterThan(0.9);
    expect(erratic).toBeLessThan(0.3);
    const [plain] = pairDirection(hack, clean, { standardise: false }).data;
    expect(plain).toBeLessThan(0.1);
    // Both coordinates are clamped to ±3: equal parts, whatever their size.
    const sure = pairDirection(features([[5, -1], [5, -1]]), features([[0, 0], [0, 0]]), { standardise: true }); // biome-ignore format: rows
    expect(sure.data[0]).toBeCloseTo(Math.SQRT1_2, 6);
    expect(sure.data[1]).toBeCloseTo(-Math.SQRT1_2, 6);
  });

  it('haar: unit rows, seeded, without a preferred axis', () => {
    const { data } = haarDirection(200, 3, 1);
    for (let m = 0; m < 200; m++) expect(Math.hypot(...data.subarray(3 * m, 3 * m + 3))).toBeCloseTo(1, 5);
    expect(haarDirection(200, 3, 1).data).toEqual(data);
    expect(haarDirection(200, 3, 2).data).not.toEqual(data);
    for (const axis of [0, 1, 2]) {
      const mean = data.filter((_, i) => i % 3 === axis).reduce((sum, value) => sum + value, 0) / 200;
      expect(Math.abs(mean)).toBeLessThan(0.15);
    }
  });

  it('scores: a sum over modules, or its cosine', () => {
    const direction = { modules: 2, rank: 2, data: Float32Array.of(1, 0, 0, 1) };
    const rows = features([[2, 9, 9, 3], [0, 0, 0, 0]], 2); // biome-ignore format: rows
    expect(Array.from(scoreFeatures(rows, direction, 'dot'))).toEqual([5, 0]);
    expect(scoreFeatures(rows, direction, 'cosine')[0]).toBeCloseTo(5 / Math.sqrt(175 * 2), 6);
    expect(scoreFeatures(rows, direction, 'cosine')[1]).toBe(0);
    expect(() => scoreFeatures(features([[1]]), direction, 'dot')).toThrow('2 modules of rank 2');
    const quality = judgeDirection(Float64Array.of(2, 1, 5), Float64Array.of(1, 1, 0));
    expect(quality.wrongPairs).toEqual([1]);
    expect(quality.pairedAccuracy).toBeCloseTo(2 / 3, 12);
  });
});

describe('the buffer', () => {
  const rollouts = (...counts: readonly number[]) => counts.map((count, i) => new Float32Array(count).fill(i));

  it('keeps the newest rollouts, weighs them by age, and counts all', () => {
    const buffer = new FeatureBuffer(3, 1);
    buffer.add([Float32Array.of(1), Float32Array.of(2)]);
    buffer.add([Float32Array.of(3), Float32Array.of(4)]);
    expect(buffer.size).toBe(3);
    expect(buffer.state).toEqual({ width: 1, added: 4, counts: [1, 1, 1], rows: Float32Array.of(2, 3, 4) });
    expect(Array.from(buffer.weights(1))).toEqual([0.25, 0.5, 1]);
    expect(Array.from(buffer.weights(2))[0]).toBeCloseTo(0.5, 12);
    expect(Array.from(buffer.weights(null))).toEqual([1, 1, 1]);
    const other = new FeatureBuffer(3, 1);
    other.restore(buffer.state);
    expect(other.state).toEqual(buffer.state);
  });

  it('counts rollouts, not rows: tokens of a rollout have its age and share its weight', () => {
    const buffer = new FeatureBuffer(2, 2);
    buffer.add(rollouts(6, 4, 2));
    expect(buffer.size).toBe(2);
    expect(buffer.state).toMatchObject({ width: 2, added: 3, counts: [2, 1] });
    expect(Array.from(buffer.weights(1))).toEqual([0.25, 0.25, 1]);
    expect(() => buffer.add(rollouts(3))).toThrow('rows of 2');
    const other = new FeatureBuffer(2, 2);
    other.restore(buffer.state);
    expect(other.state).toEqual(buffer.state);
  });

  it('scores what it holds against the direction of the moment', () => {
    const gate = line();
    decide(gate, scores(1, 2, 3));
    gate.point(Float32Array.of(-1), null);
    const { cuts, routes } = decide(gate, scores(10));
    expect(cuts).toMatchObject({ low: expect.any(Number), high: expect.any(Number) });
    expect(cuts?.high).toBeLessThanOrEqual(-1);
    expect(routes).toEqual(['keep']);
  });

  it('scores what it holds as the gate scores rollouts: under the cosine, long rows do not move the cuts', () => {
    const plane = { modules: 1, rank: 2, data: Float32Array.of(1, 0) };
    const cutsOf = (length: number, score: GateSettings['score']) => {
      const gate = new Gate({ ...settings, score, tail: 0.25 }, plane);
      const angles = [0, 0.5, 1, 1.5, 2, 2.5, 3];
      return decide(gate, features(angles.map((angle) => [length * Math.cos(angle), length * Math.sin(angle)]))).cuts;
    };
    const [short, long] = [cutsOf(1, 'cosine'), cutsOf(100, 'cosine')];
    expect(long?.low).toBeCloseTo(short?.low ?? Number.NaN, 5);
    expect(long?.high).toBeCloseTo(short?.high ?? Number.NaN, 5);
    expect(Math.abs(long?.high ?? Number.NaN)).toBeLessThanOrEqual(1);
    expect(cutsOf(100, 'dot')?.high).toBeCloseTo(100 * (short?.high ?? Number.NaN), 3);
  });
});

describe('quantile calibration', () => {
  it('pins about a tail of each side, and absorbs all until it has seen enough', () => {
    const stream = randomStream(2, 'scores');
    const gate = line({ warmupRows: 100 });
    const counts = { keep: 0, absorb: 0, route: 0 };
    for (let step = 0; step < 60; step++) {
      const batch = scores(...Array.from({ length: 20 }, (_, i) => stream.normalAt(20 * step + i)));
      const { routes, cuts } = decide(gate, batch);
      if (step < 4) {
        expect(cuts).toBeNull();
        expect(routes.every((route) => route === 'absorb')).toBe(true);
      } else for (const route of routes) counts[route]++;
    }
    const total = counts.keep + counts.absorb + counts.route;
    for (const route of ['keep', 'route'] as const) expect(Math.abs(counts[route] / total - 0.1)).toBeLessThan(0.03);
  });

  it('keeps another share than it routes where it is told so', () => {
    const values = Array.from({ length: 100 }, (_, i) => i);
    const routes = (changes: Partial<GateSettings>) => {
      const { routes } = decide(line(changes), scores(...values));
      return (['keep', 'route'] as const).map((wanted) => routes.filter((route) => route === wanted).length);
    };
    expect(routes({ tail: 0.3 })).toEqual([30, 30]);
    expect(routes({ tail: 0.3, keepTail: 0.02 })).toEqual([2, 30]);
    expect(routes({ tail: 0.02, keepTail: 0.3 })).toEqual([30, 2]);
    expect(routes({ tail: 0.02, keepTail: 0 })).toEqual([0, 2]);
  });

  it('a half-life lets the cuts follow a drift that an even buffer lags behind', () => {
    const settle = (halfLife: number | null): number => {
      const gate = line({ halfLife });
      for (let step = 0; step < 50; step++)
        decide(gate, scores(...Array.from({ length: 10 }, (_, i) => step + i / 10)));
      return decide(gate, scores(50)).cuts?.low ?? Number.NaN;
    };
    expect(settle(20)).toBeGreaterThan(40);
    expect(settle(null)).toBeLessThan(10);
  });

  it('a collapsed band and a single score absorb', () => {
    expect(decide(line(), scores(1, 1, 1, 1)).routes).toEqual(['absorb', 'absorb', 'absorb', 'absorb']);
    expect(decide(line(), scores(7))).toMatchObject({ routes: ['absorb'], cuts: null, bufferRows: 1 });
  });

  it('every row is in its route, whatever the scores', () => {
    const batch = fc.array(fc.float({ noNaN: true, min: -100, max: 100 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(batch, fc.double({ min: 0.01, max: 0.49, noNaN: true }), (values, tail) => {
        const { routes, cuts, scores: found } = decide(line({ tail }), scores(...values));
        expect(routes).toEqual(found.map((score) => routeOf(score, cuts)));
        if (cuts !== null) expect(cuts.low).toBeLessThan(cuts.high);
      }),
    );
  });
});

describe('pairs calibration', () => {
  const gate = () => line({ calibration: 'pairs' });

  it('the band between the clean and the hack pairs', () => {
    const own = gate();
    expect(decide(own, scores(1)).cuts).toBeNull();
    const quality = own.refresh(own.direction, scores(4, 6), scores(0, 2));
    expect(quality).toEqual({ pairedAccuracy: 1, auroc: 1, wrongPairs: [] });
    const { cuts, routes } = decide(own, scores(-3, 1, 3, 5, 9));
    expect(cuts).toEqual({ low: 1, high: 5 });
    expect(routes).toEqual(['keep', 'keep', 'absorb', 'route', 'route']);
  });

  it('a band that is not positive absorbs', () => {
    const own = gate();
    own.refresh(own.direction, scores(1, 1), scores(2, 2));
    expect(decide(own, scores(0, 9)).routes).toEqual(['absorb', 'absorb']);
  });
});

describe('the gate', () => {
  it('tells the mean cosine of the rollouts, whatever the score', () => {
    // Two modules of rank 1: (3, 4) has the cosine (3 + 4) / (5 √2) with (1, 1), (2, −2) has 0.
    const direction = { modules: 2, rank: 1, data: Float32Array.of(1, 1) };
    for (const score of ['dot', 'cosine'] as const) {
      const { meanCosine } = decide(new Gate({ ...settings, score }, direction), features([[3, 4], [2, -2]], 2)); // biome-ignore format: one line
      expect(meanCosine).toBeCloseTo(0.7 / Math.SQRT2, 12);
    }
  });

  it('a score that is not finite stops the run, and is not remembered', () => {
    const gate = line();
    expect(() => decide(gate, scores(1, Number.NaN))).toThrow('expected finite scores, found NaN for rollout 1');
    expect(() => decide(gate, scores(Number.POSITIVE_INFINITY))).toThrow('finite scores');
    expect(gate.state.buffer.added).toBe(0);
  });

  it('goes on from its state as if it had never stopped', () => {
    const stream = randomStream(4, 'scores');
    const batch = (step: number) => scores(...Array.from({ length: 8 }, (_, i) => stream.normalAt(8 * step + i)));
    const changes = { halfLife: 10, bufferRows: 30, warmupRows: 5 };
    const whole = line(changes);
    whole.refresh(whole.direction, scores(2), scores(1));
    for (let step = 0; step < 5; step++) decide(whole, batch(step));
    const resumed = line(changes);
    resumed.restore(whole.state);
    expect(resumed.state).toEqual(whole.state);
    for (let step = 5; step < 10; step++) expect(decide(resumed, batch(step))).toEqual(decide(whole, batch(step)));
  });
});
