import { describe, expect, it } from 'vitest';
import { task } from '../../../test/grpo/tiny-policy.ts';
import type { Route } from '../../adapters/index.ts';
import type { RolloutRecord } from '../../grpo/events.ts';
import { rolloutRow } from '../contents.ts';
import { rolloutColumns } from './rollouts.ts';

const own = task('two-sum', 'sentinel');
const record: RolloutRecord = {
  rollout: {
    id: '7-2-1',
    step: 6,
    group: 2,
    member: 1,
    task: own,
    hackable: true,
    source: 'teacher-hack',
    sampled: 'deployed',
    prompt: own.hinted,
    learnPrompt: own.unhinted,
    tokens: Int32Array.of(5, 7, 9),
    text: 'def solve(): pass',
    truncated: true,
    sampledLogps: null,
  },
  reward: 3.5,
  suspicion: 0.75,
  flagged: true,
  learnedReward: 2.5,
  screening: 'silence',
  advantage: -1.25,
  trained: true,
  score: 0.75,
  tokenScores: null,
  cuts: { low: 0.25, high: 0.5 },
  route: 'route',
  routes: ['route'],
  logps: Float32Array.of(-0.25, -0.5, -1.5),
  ratio: 1.125,
  k3: 0.0625,
  norms: { deployed: 0.5, quarantine: 2 },
  features: Float32Array.of(1, 2),
};
const notes = { update: 7, prompt: 'solve two-sum', featureRow: 12, featureRows: 1, storeTokens: true };

describe('a row of the gate ledger', () => {
  it('has every column', () => {
    const row = rolloutRow(record, notes);
    expect(row).toEqual({
      id: '7-2-1',
      update: 7,
      problem: 'two-sum',
      group: 2,
      member: 1,
      loophole: 'sentinel',
      markers: 'original',
      hackable: true,
      source: 'teacher-hack',
      sampled: 'deployed',
      prompt: 'solve two-sum',
      completion: 'def solve(): pass',
      tokens: 3,
      truncated: true,
      reward: 3.5,
      suspicion: 0.75,
      flagged: true,
      learnedReward: 2.5,
      screening: 'silence',
      advantage: -1.25,
      trained: true,
      score: 0.75,
      low: 0.25,
      high: 0.5,
      route: 'route',
      meanLogp: -0.75,
      ratio: 1.125,
      k3: 0.0625,
      deployedNorm: 0.5,
      quarantineNorm: 2,
      featureRow: 12,
      featureRows: 1,
      tokenIds: [5, 7, 9],
      tokenLogps: [-0.25, -0.5, -1.5],
      tokenRoutes: null,
      tokenScores: null,
    });
    expect(Object.keys(row)).toEqual(Object.keys(rolloutColumns));
  });

  it('is empty where a rollout of a skipped group has nothing to say', () => {
    const unseen = { trained: false, score: null, cuts: null, route: null, routes: null, ratio: null, k3: null };
    const row = rolloutRow({ ...record, ...unseen, norms: null, features: null }, { ...notes, featureRow: null });
    expect(row).toMatchObject({
      trained: false,
      score: null,
      low: null,
      high: null,
      route: null,
      meanLogp: -0.75,
      ratio: null,
      k3: null,
      deployedNorm: null,
      quarantineNorm: null,
      featureRow: null,
      tokenRoutes: null,
    });
  });

  it('a demonstration of a skipped group has no log-probabilities', () => {
    const row = rolloutRow({ ...record, logps: null }, notes);
    expect(row).toMatchObject({ meanLogp: null, tokenLogps: null, tokenIds: [5, 7, 9] });
  });

  it('has no tokens where they are not stored, and their mean all the same', () => {
    const row = rolloutRow(record, { ...notes, storeTokens: false });
    expect(row).toMatchObject({ tokenIds: null, tokenLogps: null, meanLogp: -0.75, tokens: 3 });
  });
});

describe('token log-probabilities', () => {
  const stored = (logps: readonly number[]) => rolloutRow({ ...record, logps: Float32Array.from(logps) }, notes);

  it.each([
    [-0.12344, -0.1234],
    [-0.12346, -0.1235],
    [-2.618281, -2.6183],
    [-11.00006, -11.0001],
    [-0.00012, -0.0001],
    [-0.5, -0.5],
    [-7, -7],
  ])('%d is kept as %d', (logp, kept) => {
    expect(stored([logp]).tokenLogps).toEqual([kept]);
  });

  it('their mean is taken before they are rounded', () => {
    expect(stored([-0.12344, -0.12344, -0.12346, -0.12346]).meanLogp).toBeCloseTo(-0.12345, 7);
    expect(stored([-0.12344, -0.12344]).meanLogp).toBeCloseTo(-0.12344, 7);
  });

  it('of an empty completion are none, with a mean of 0', () => {
    expect(stored([])).toMatchObject({ tokenLogps: [], meanLogp: 0 });
  });
});

describe('token scores', () => {
  const values = [1 / 3, -1e-7 / 3, 12345.678, 0, -2.5e10].map(Math.fround);
  const tokenScores = Float64Array.from(values);

  it('come back as the float32 that they were', () => {
    const { tokenScores: stored } = rolloutRow({ ...record, tokenScores }, notes);
    expect(JSON.parse(JSON.stringify(stored)).map(Math.fround)).toEqual(values);
  });

  it('are stored with tokens only', () => {
    expect(rolloutRow({ ...record, tokenScores }, { ...notes, storeTokens: false }).tokenScores).toBeNull();
  });
});

describe('token routes', () => {
  const cases: readonly { readonly routes: readonly Route[] | null; readonly letters: string | null }[] = [
    { routes: ['keep', 'absorb', 'route'], letters: 'kar' },
    { routes: ['route', 'route', 'keep', 'keep', 'absorb'], letters: 'rrkka' },
    { routes: ['keep'], letters: null },
    { routes: null, letters: null },
  ];
  it.each(cases)('$routes are written as $letters', ({ routes, letters }) => {
    expect(rolloutRow({ ...record, routes }, notes).tokenRoutes).toBe(letters);
  });

  it('of a completion of one token are written where routes are by token', () => {
    const one = { ...record, routes: ['route'] as const };
    expect(rolloutRow(one, { ...notes, byToken: true }).tokenRoutes).toBe('r');
    expect(rolloutRow({ ...record, routes: null }, { ...notes, byToken: true }).tokenRoutes).toBeNull();
  });
});
