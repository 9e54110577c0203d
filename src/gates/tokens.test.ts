/** The gate by token, and what a gate may do with advantages. */
import { describe, expect, it } from 'vitest';
import { randomStream } from '../base/rng.ts';
import { type CondensedRows, evenlySpaced, Gate, type GateSettings, routeOf } from './gate.ts';

const settings: GateSettings = {
  calibration: 'quantile',
  score: 'dot',
  tail: 0.1,
  keepTail: null,
  keepOnly: 'any',
  halfLife: 96,
  bufferRows: 8192,
  warmupRows: 64,
  bufferTokens: 32,
};
/** A gate in one dimension: a row is its score. */
const line = (changes: Partial<GateSettings> = {}) =>
  new Gate({ ...settings, ...changes }, { modules: 1, rank: 1, data: Float32Array.of(1) });

const decideAll = (gate: Gate, rollouts: readonly CondensedRows[], advantages: readonly number[]) =>
  gate.calibrate(rollouts).route(rollouts, advantages);

describe('the tokens that are buffered', () => {
  it.each([
    { length: 3, count: 8, places: [0, 1, 2] },
    { length: 8, count: 8, places: [0, 1, 2, 3, 4, 5, 6, 7] },
    { length: 8, count: 4, places: [1, 3, 5, 7] },
    { length: 9, count: 2, places: [2, 6] },
    { length: 5, count: 1, places: [2] },
    { length: 0, count: 4, places: [] },
  ])('$count of $length', ({ length, count, places }) => {
    expect(evenlySpaced(length, count)).toEqual(places);
  });

  it('are copies, so that the rows of a pass can be dropped; all tokens have a score', () => {
    const gate = line({ bufferTokens: 2 });
    const pass = Float32Array.from({ length: 100 }, (_, i) => i / 3);
    const { scores, kept, meanCosine } = gate.condense({ data: pass.subarray(40, 49) });
    expect(kept.buffer.byteLength).toBe(8);
    expect(kept).toEqual(Float32Array.of(pass[42], pass[46]));
    expect(Array.from(scores)).toEqual(Array.from(pass.subarray(40, 49)));
    expect(meanCosine).toBe(1);
  });
});

describe('cuts of a gate by token', () => {
  const [rollouts, tokens] = [64, 512];
  const stream = randomStream(3, 'token scores');
  /** Scores of the tokens of each rollout; those of the last are shifted far up. */
  const shifted = Array.from({ length: rollouts }, (_, i) =>
    Float32Array.from({ length: tokens }, (_, t) => stream.normalAt(i * tokens + t) + (i === rollouts - 1 ? 10 : 0)),
  );

  it('do not come from the last rollout alone', () => {
    const gate = line();
    const { cuts, routes, bufferRows } = decideAll(
      gate,
      shifted.map((data) => gate.condense({ data })),
      [],
    );
    expect(bufferRows).toBe(rollouts);
    expect(cuts?.low).toBeGreaterThan(-1.6);
    expect(cuts?.low).toBeLessThan(-1);
    expect(cuts?.high).toBeGreaterThan(1);
    expect(cuts?.high).toBeLessThan(2);
    const share = (wanted: string) => routes.flat().filter((route) => route === wanted).length / (rollouts * tokens);
    expect(share('keep')).toBeLessThan(0.15);
    expect(share('route')).toBeLessThan(0.15);
  });

  it('wait for as many rollouts as the warm-up says, however many tokens these have', () => {
    const gate = line({ warmupRows: 3 });
    const decide = (from: number, to: number) =>
      decideAll(
        gate,
        shifted.slice(from, to).map((data) => gate.condense({ data })),
        [],
      ).cuts;
    expect(decide(0, 2)).toBeNull();
    expect(decide(2, 3)).not.toBeNull();
  });

  it('forget by rollouts: half a life later a rollout weighs half, and the buffer holds so many', () => {
    const gate = line({ halfLife: 1, bufferRows: 3, warmupRows: 0, bufferTokens: 2, tail: 0.4 });
    for (const value of [1, 2, 3, 4]) {
      const { bufferRows } = decideAll(gate, [gate.condense({ data: Float32Array.of(value, value, value) })], []);
      expect(bufferRows).toBe(Math.min(3, value));
    }
    expect(gate.state.buffer).toMatchObject({ added: 4, counts: [2, 2, 2], rows: Float32Array.of(2, 2, 3, 3, 4, 4) });
  });

  it('scores are those of a float32, in the rollout and in the buffer', () => {
    const gate = new Gate(
      { ...settings, warmupRows: 0, tail: 0.3 },
      { modules: 1, rank: 2, data: Float32Array.of(0.6, 0.8) },
    );
    const { scores } = gate.condense({ data: Float32Array.of(1 / 3, 1 / 7, 0.1, 0.2) });
    expect(scores.map(Math.fround)).toEqual(scores);
  });
});

describe('keepOnly', () => {
  it.each([
    { score: -2, advantage: 1, keepOnly: 'any', route: 'keep' },
    { score: -2, advantage: -1, keepOnly: 'any', route: 'keep' },
    { score: -2, advantage: 1, keepOnly: 'praised', route: 'keep' },
    { score: -2, advantage: 0, keepOnly: 'praised', route: 'absorb' },
    { score: -2, advantage: -1, keepOnly: 'praised', route: 'absorb' },
    { score: 0, advantage: 1, keepOnly: 'praised', route: 'absorb' },
    { score: 2, advantage: -1, keepOnly: 'praised', route: 'route' },
    { score: 2, advantage: 1, keepOnly: 'praised', route: 'route' },
  ] as const)('$keepOnly: score $score, advantage $advantage → $route', ({ score, advantage, keepOnly, route }) => {
    const gate = line({ keepOnly, calibration: 'pairs', bufferTokens: null });
    gate.point(Float32Array.of(1), { low: -1, high: 1 });
    expect(decideAll(gate, [gate.condense({ data: Float32Array.of(score) })], [advantage]).routes).toEqual([[route]]);
    expect(routeOf(score, null, true)).toBe('absorb');
  });

  it('asks for the advantage of the rollout, for each of its tokens', () => {
    const gate = line({ keepOnly: 'praised', calibration: 'pairs' });
    gate.point(Float32Array.of(1), { low: -1, high: 1 });
    const rows = [Float32Array.of(-2, 2, 0), Float32Array.of(-2, -3)].map((data) => gate.condense({ data }));
    expect(decideAll(gate, rows, [-0.5, 0.5]).routes).toEqual([
      ['absorb', 'route', 'absorb'],
      ['keep', 'keep'],
    ]);
  });
});

describe('the flag of a rollout', () => {
  const rowsOf = (gate: Gate, ...rollouts: readonly (readonly number[])[]) =>
    rollouts.map((rows) => gate.condense({ data: Float32Array.from(rows) }));

  it('of one row is its route, whatever the others are', () => {
    const gate = line({ bufferTokens: null, warmupRows: 0, tail: 0.3, halfLife: null });
    const rollouts = rowsOf(gate, [1], [5], [2], [9]);
    expect(gate.flag(rollouts)).toEqual([false, false, false, false]);
    const { routes } = gate.calibrate(rollouts).route(rollouts, []);
    expect(routes.flat()).toEqual(['keep', 'absorb', 'absorb', 'route']);
    expect(gate.flag(rollouts)).toEqual([false, false, false, true]);
    const all = line({ bufferTokens: null, calibration: 'pairs' });
    all.point(all.direction.data, { low: -2, high: -1 });
    expect(all.calibrate(rollouts).flag(rollouts)).toEqual([true, true, true, true]);
  });

  it('of several: more of its rows above the cut than of the whole buffer', () => {
    const gate = line({ calibration: 'pairs', halfLife: null });
    gate.point(gate.direction.data, { low: 0, high: 10 });
    // Every rollout weighs the same: shares above 10 of 1/4, 1/2, 0 and 1, and (1/4 + 1/2 + 0 + 1) / 4 = 0.4375 of the buffer.
    const rollouts = rowsOf(gate, [1, 1, 1, 11], [11, 1], [1, 2, 3, 4, 5, 6], [12]);
    expect(gate.calibrate(rollouts).flag(rollouts)).toEqual([false, true, false, true]);
  });
});
