import { describe, expect, it } from 'vitest';
import { task } from '../../test/grpo/tiny-policy.ts';
import type { Route } from '../adapters/index.ts';
import { commonestRoute, explainZero, rolloutRecords, stepEvent, stepExpectations } from './report.ts';
import { type Rollout, rolloutId } from './rollout.ts';
import type { StepOutcome } from './stages.ts';
import type { UpdateResult } from './update.ts';

function rollout(group: number, member: number, length: number, changed: Partial<Rollout> = {}): Rollout {
  const own = task(`problem ${group}`);
  return {
    id: rolloutId(6, group, member),
    step: 6,
    group,
    member,
    task: own,
    hackable: true,
    source: 'student',
    sampled: 'full',
    prompt: own.hinted,
    learnPrompt: own.hinted,
    tokens: new Int32Array(length).fill(3),
    text: `text ${group} ${member}`,
    truncated: false,
    sampledLogps: new Float32Array(length).fill(-4),
    ...changed,
  };
}

const result: UpdateResult = {
  loss: -0.5,
  gradientNorm: 3.25,
  blockNorms: { deployed: 3, quarantine: 1 },
  leaks: { keep: 0, route: 0 },
  anchorNll: null,
  learningRate: 0.01,
  rollouts: [
    { ratio: 1, clipped: 0, k3: 0.5, norms: { deployed: 1, quarantine: 0 } },
    { ratio: 1.5, clipped: 0.5, k3: 0.25, norms: { deployed: 0, quarantine: 2 } },
    { ratio: 0.75, clipped: 0.25, k3: 0, norms: { deployed: 0, quarantine: 3 } },
    { ratio: 2, clipped: 0.25, k3: 1.25, norms: { deployed: 4, quarantine: 5 } },
  ],
};

/** An update of three groups of two: the middle one is skipped, the last one has no hint and ends with a demonstration. */
const outcome: StepOutcome = {
  index: 0,
  rollouts: [
    rollout(0, 0, 2),
    rollout(0, 1, 4, { truncated: true }),
    rollout(1, 0, 1, { sampled: 'deployed' }),
    rollout(1, 1, 1, { truncated: true }),
    rollout(2, 0, 2, { hackable: false }),
    rollout(2, 1, 2, { hackable: false, source: 'teacher-solve', sampledLogps: null }),
  ],
  rewards: Float32Array.of(2, 0, 1, 1, 0, 5),
  watched: null,
  learnedRewards: null,
  screening: null,
  advantages: Float32Array.of(1, -1, 0, 0, -2.5, 2.5),
  skippedGroups: [false, true, false],
  trained: [0, 1, 4, 5],
  logpOld: [
    Float32Array.of(-1, -2),
    Float32Array.of(-1, -1, -1, -1),
    Float32Array.of(-0.5, -0.5),
    Float32Array.of(-3, -1),
  ],
  // log π_old − log π_ref: 1, 0.5; 0, 0, 0, 2; 0.5, 0.5; 0.5, 0.5. Together 5.5 over 10 tokens.
  logpBase: [
    Float32Array.of(-2, -2.5),
    Float32Array.of(-1, -1, -1, -3),
    Float32Array.of(-1, -1),
    Float32Array.of(-3.5, -1.5),
  ],
  features: [Float32Array.of(10), Float32Array.of(11), Float32Array.of(12), Float32Array.of(13)],
  condensed: null,
  routing: {
    routes: [['keep'], ['route'], ['route'], ['absorb']],
    scores: [-1, 3, 2, 0.5],
    cuts: { low: 0, high: 1 },
    bufferRows: 40,
    meanCosine: 0.125,
  },
  result,
  scoringPasses: 12,
  parity: 0.0001,
  hash: 'abc',
  sampler: null,
};

/** An update in which no group had any spread of rewards. */
const skipped: StepOutcome = {
  ...outcome,
  skippedGroups: [true, true, true],
  trained: [],
  logpOld: [],
  logpBase: [],
  features: [],
  routing: { routes: [], scores: [], cuts: null, bufferRows: 0 },
  result: null,
};

const notes = { update: 7, direction: null, directionAge: null, tripwireLogp: null };
const withResult = (changed: Partial<UpdateResult>): StepOutcome => ({ ...outcome, result: { ...result, ...changed } });
const withRoutes = (routes: readonly (readonly Route[])[], deployed = 3): StepOutcome => ({
  ...outcome,
  routing: { ...outcome.routing, routes },
  result: { ...result, blockNorms: { deployed, quarantine: 1 } },
});
const byToken: StepOutcome = withRoutes([
  ['keep', 'keep'],
  ['route', 'route', 'route', 'absorb'],
  ['absorb', 'absorb'],
  ['route', 'keep'],
]);

describe('the event of a step', () => {
  it('has a band of negative width where the hack sides score lower than the clean ones', () => {
    const built = { quality: { pairedAccuracy: 0.4, auroc: 0.3, wrongPairs: [] }, pairCuts: { low: 2, high: -1 } };
    const event = stepEvent(outcome, { update: 7, direction: built, directionAge: 0, tripwireLogp: null });
    expect(event.direction?.band).toEqual({ low: 2, high: -1, width: -3 });
  });

  it('says every number of the update', () => {
    const quality = { pairedAccuracy: 0.9, auroc: 0.95, wrongPairs: [2] };
    const built = { quality, pairCuts: { low: -1, high: 3 } };
    const { scores, ...event } = stepEvent(outcome, {
      update: 7,
      direction: built,
      directionAge: 3,
      tripwireLogp: -1.25,
    });
    expect(event).toEqual({
      kind: 'step',
      update: 7,
      rollouts: 6,
      meanReward: 0.8,
      groups: 3,
      skippedGroups: 1,
      unhintedGroups: 1,
      demonstrations: 1,
      truncated: 2,
      meanTokens: 2,
      routes: { keep: 1, absorb: 1, route: 2 },
      cuts: { low: 0, high: 1 },
      bufferRows: 40,
      directionAge: 3,
      meanCosine: 0.125,
      direction: { ...quality, band: { low: -1, high: 3, width: 4 } },
      watched: null,
      scoringPasses: 12,
      loss: -0.5,
      gradientNorm: 3.25,
      blockNorms: { deployed: 3, quarantine: 1 },
      qmass: 0.25,
      ratio: { keep: 1, absorb: 2, route: 1.125 },
      clipFraction: 0.25,
      kl: 0.5,
      drift: 0.55,
      learningRate: 0.01,
      parity: 0.0001,
      adapterHash: 'abc',
      tripwireLogp: -1.25,
      zeroSignal: null,
    });
    // Quantiles of −1, 0.5, 2, 3, linear between order statistics: at positions 0.3, 1.5 and 2.7.
    expect(scores?.p10).toBeCloseTo(-0.55, 12);
    expect(scores?.p50).toBeCloseTo(1.25, 12);
    expect(scores?.p90).toBeCloseTo(2.7, 12);
  });

  it('says zeros and nothing of what was not learned when every group was skipped', () => {
    expect(stepEvent(skipped, notes)).toMatchObject({
      rollouts: 6,
      meanReward: 0.8,
      skippedGroups: 3,
      truncated: 2,
      meanTokens: 2,
      routes: { keep: 0, absorb: 0, route: 0 },
      scores: null,
      cuts: null,
      loss: 0,
      gradientNorm: 0,
      blockNorms: { deployed: 0, quarantine: 0 },
      qmass: null,
      ratio: {},
      clipFraction: 0,
      kl: 0,
      drift: 0,
      learningRate: 0,
      directionAge: null,
      tripwireLogp: null,
      zeroSignal: { reason: 'every group has equal rewards' },
    });
  });

  it.each([
    { deployed: 3, quarantine: 1, qmass: 0.25 },
    { deployed: 1, quarantine: 3, qmass: 0.75 },
    { deployed: 0, quarantine: 2, qmass: 1 },
    { deployed: 2, quarantine: 0, qmass: 0 },
    { deployed: 0, quarantine: 0, qmass: null },
  ])('the quarantine has $qmass of the gradient where |g_d| = $deployed and |g_q| = $quarantine', (row) => {
    const { deployed, quarantine, qmass } = row;
    expect(stepEvent(withResult({ blockNorms: { deployed, quarantine } }), notes).qmass).toBe(qmass);
  });

  it.each([
    { old: [-1, -1], reference: [-2, -4], drift: 2, what: 'above 0 for tokens more likely than under the base' },
    { old: [-2, -4], reference: [-1, -1], drift: -2, what: 'below 0 for tokens less likely than under the base' },
    { old: [-1, -3], reference: [-3, -1], drift: 0, what: 'a mean with its sign, not a distance' },
  ])('the drift is $what', ({ old, reference, drift }) => {
    const logpOld = [Float32Array.from(old)];
    expect(stepEvent({ ...outcome, logpOld, logpBase: [Float32Array.from(reference)] }, notes).drift).toBe(drift);
  });

  it.each([0, 1, 14, null])('passes the age %s of the direction through', (directionAge) => {
    expect(stepEvent(outcome, { ...notes, directionAge }).directionAge).toBe(directionAge);
  });

  it('counts routes by token where the gate decides by token, and ratios by the commonest route of a rollout', () => {
    const { routes, ratio } = stepEvent(byToken, notes);
    expect(routes).toEqual({ keep: 3, absorb: 3, route: 4 });
    expect(ratio).toEqual({ keep: (1 + 2) / 2, absorb: 0.75, route: 1.5 });
  });

  it('has no ratio of a route without rollouts, and no percentiles without scores', () => {
    const none = withRoutes([['keep'], ['keep'], ['keep'], ['keep']]);
    expect(stepEvent(none, notes).ratio).toEqual({ keep: 1.3125 });
    expect(stepEvent({ ...none, routing: { ...none.routing, scores: null } }, notes).scores).toBeNull();
  });
});

describe('why the deployed block learned nothing', () => {
  const counts = { groups: 3, skippedGroups: 1, trained: 4 };
  const routed: Route[][] = [['route'], ['route'], ['route', 'route'], ['route']];
  it.each([
    {
      what: 'every group was skipped',
      given: skipped,
      expected: { reason: 'every group has equal rewards', groups: 3, skippedGroups: 3, trained: 0, routed: 0 },
    },
    {
      what: 'screening emptied the groups',
      given: { ...skipped, screening: skipped.rollouts.map(() => 'leave-out' as const) },
      expected: {
        reason: 'every group has equal rewards or fewer than two rollouts after screening',
        groups: 3,
        skippedGroups: 3,
      },
    },
    {
      what: 'screening only silenced rollouts, which still count in their groups',
      given: { ...skipped, screening: skipped.rollouts.map(() => 'silence' as const) },
      expected: { reason: 'every group has equal rewards' },
    },
    {
      what: 'every rollout was routed as a whole',
      given: withRoutes(routed, 0),
      expected: { reason: 'every rollout was routed', ...counts, routed: 4 },
    },
    {
      what: 'one token was not routed, and the gradient is zero all the same',
      given: withRoutes([...routed.slice(0, 2), ['route', 'keep'], ['route']], 0),
      expected: { reason: 'the gradient is zero', ...counts, routed: 3 },
    },
    {
      what: 'a whole rollout was not routed, and the gradient is zero all the same',
      given: withRoutes([...routed.slice(0, 3), ['absorb']], 0),
      expected: { reason: 'the gradient is zero', ...counts, routed: 3 },
    },
    { what: 'nothing is to be explained', given: outcome, expected: null },
  ])('$what', ({ given, expected }) => {
    if (expected === null) expect(explainZero(given)).toBeNull();
    else expect(explainZero(given)).toMatchObject(expected);
  });
});

describe('the records of rollouts', () => {
  it('give each rollout what belongs to it, past a skipped group', () => {
    const records = rolloutRecords(outcome);
    expect(records.map(({ rollout: { id } }) => id)).toEqual(['7-0-0', '7-0-1', '7-1-0', '7-1-1', '7-2-0', '7-2-1']);
    expect(records.map(({ reward }) => reward)).toEqual([2, 0, 1, 1, 0, 5]);
    expect(records.map(({ advantage }) => advantage)).toEqual([1, -1, 0, 0, -2.5, 2.5]);
    expect(records.map(({ trained }) => trained)).toEqual([true, true, false, false, true, true]);
    expect(records.map(({ score }) => score)).toEqual([-1, 3, null, null, 2, 0.5]);
    expect(records.map(({ route }) => route)).toEqual(['keep', 'route', null, null, 'route', 'absorb']);
    expect(records.map(({ ratio }) => ratio)).toEqual([1, 1.5, null, null, 0.75, 2]);
    expect(records.map(({ k3 }) => k3)).toEqual([0.5, 0.25, null, null, 0, 1.25]);
    expect(records.map(({ features }) => features?.[0] ?? null)).toEqual([10, 11, null, null, 12, 13]);
  });

  it('hold everything about a rollout that carried gradient', () => {
    expect(rolloutRecords(outcome)[4]).toEqual({
      rollout: outcome.rollouts[4],
      reward: 0,
      suspicion: null,
      flagged: null,
      learnedReward: null,
      screening: null,
      advantage: -2.5,
      trained: true,
      score: 2,
      tokenScores: null,
      cuts: { low: 0, high: 1 },
      route: 'route',
      routes: ['route'],
      logps: Float32Array.of(-0.5, -0.5),
      ratio: 0.75,
      k3: 0,
      norms: { deployed: 0, quarantine: 3 },
      features: Float32Array.of(12),
    });
  });

  it('hold the sampler’s log-probabilities and nothing of the gate for a rollout of a skipped group', () => {
    expect(rolloutRecords(outcome)[3]).toEqual({
      rollout: outcome.rollouts[3],
      reward: 1,
      suspicion: null,
      flagged: null,
      learnedReward: null,
      screening: null,
      advantage: 0,
      trained: false,
      score: null,
      tokenScores: null,
      cuts: null,
      route: null,
      routes: null,
      logps: Float32Array.of(-4),
      ratio: null,
      k3: null,
      norms: null,
      features: null,
    });
  });

  it('have no score and no features where the arm wants none', () => {
    const routing = { ...outcome.routing, scores: null, cuts: null };
    const [record] = rolloutRecords({ ...outcome, routing, features: [] });
    expect(record).toMatchObject({ trained: true, score: null, cuts: null, features: null, route: 'keep' });
  });
});

describe('what must hold after a step', () => {
  const names = [
    'gradients are finite',
    'the quarantine learns nothing under keep',
    'the deployed block learns nothing under route',
  ];
  it.each([
    { what: 'clean', changed: {}, expected: [true, true, true] },
    { what: 'no kept rollouts', changed: { leaks: { keep: null, route: 0 } }, expected: [true, null, true] },
    { what: 'no routed rollouts', changed: { leaks: { keep: 0, route: null } }, expected: [true, true, null] },
    { what: 'a leak under keep', changed: { leaks: { keep: 1e-30, route: 0 } }, expected: [true, false, true] },
    { what: 'a leak under route', changed: { leaks: { keep: 0, route: 1e-30 } }, expected: [true, true, false] },
    { what: 'no finite gradient', changed: { gradientNorm: Number.NaN }, expected: [false, true, true] },
  ])('$what', ({ changed, expected }) => {
    const found = stepExpectations(withResult(changed)).map(({ name, holds }) => [name, holds]);
    expect(found).toEqual(names.map((name, i) => [name, expected[i]]).filter(([, holds]) => holds !== null));
  });

  it('says the numbers, and nothing of an update without gradient', () => {
    const leaking = withResult({ leaks: { keep: 0.5, route: 0.25 } });
    expect(stepExpectations(leaking).map(({ detail }) => detail)).toEqual([
      'norm 3.25',
      '|g_q| = 0.5 after the kept rollouts',
      '|g_d| = 0.25 after the routed rollouts',
    ]);
    expect(stepExpectations(skipped)).toEqual([]);
  });
});

describe('the route of a rollout', () => {
  const cases: readonly { readonly routes: readonly Route[]; readonly route: Route }[] = [
    { routes: ['keep'], route: 'keep' },
    { routes: ['route'], route: 'route' },
    { routes: ['route', 'keep', 'route'], route: 'route' },
    { routes: ['keep', 'route', 'keep'], route: 'keep' },
    { routes: ['keep', 'route', 'absorb', 'keep'], route: 'keep' },
    // Among routes that are equally common, absorb comes first, then keep.
    { routes: ['route', 'absorb'], route: 'absorb' },
    { routes: ['keep', 'absorb'], route: 'absorb' },
    { routes: ['route', 'keep'], route: 'keep' },
    { routes: ['route', 'keep', 'absorb'], route: 'absorb' },
  ];
  it.each(cases)('of $routes is $route', ({ routes, route }) => {
    expect(commonestRoute(routes)).toBe(route);
  });
});
