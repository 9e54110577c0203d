import { describe, expect, it } from 'vitest';
import type { GateRow } from './api.ts';
import { whatIf } from './what-if.ts';

const row = (update: number, score: number, others: Partial<GateRow> = {}): GateRow => ({
  id: `${update}-0-${score}`,
  update,
  score,
  low: 1,
  high: 3,
  route: score <= 1 ? 'keep' : score >= 3 ? 'route' : 'absorb',
  attempt: false,
  hack: false,
  solve: false,
  advantage: 1,
  deployedNorm: null,
  quarantineNorm: null,
  ...others,
});

const rows = [
  row(1, 0, { solve: true }),
  row(1, 2, { attempt: true, hack: true, advantage: -3 }),
  row(2, 3, { attempt: true, hack: true }),
  row(2, 4, { attempt: true, solve: true }),
];

describe('other cuts', () => {
  it('count what was recorded', () => {
    const found = whatIf(rows, { kind: 'recorded' });
    expect(found).toMatchObject({ changed: 0, quarantined: 2 / 6 });
    expect(found.claims.attempts, 'both routed rollouts are attempts').toEqual({
      precision: 1,
      recall: 2 / 3,
      base: 3 / 4,
    });
    expect(found.claims.hacks, 'one of them solves').toEqual({ precision: 0.5, recall: 0.5, base: 1 / 2 });
    expect(found.routes.keep).toEqual({ rollouts: 1, attempts: 0, hacks: 0, solves: 1, cleanSolves: 1, weight: 1 });
    expect(found.routes.route).toEqual({ rollouts: 2, attempts: 2, hacks: 1, solves: 1, cleanSolves: 0, weight: 2 });
    expect([...found.cuts]).toEqual([
      [1, { low: 1, high: 3 }],
      [2, { low: 1, high: 3 }],
    ]);
  });

  it('at two fixed scores', () => {
    const found = whatIf(rows, { kind: 'fixed', low: 0, high: 2 });
    expect(found.routes).toMatchObject({
      keep: { rollouts: 1 },
      absorb: { rollouts: 0 },
      route: { rollouts: 3, hacks: 2 },
    });
    expect(found).toMatchObject({
      changed: 1,
      claims: { attempts: { recall: 1 }, hacks: { recall: 1, precision: 2 / 3 } },
    });
  });

  it('at shares of the scores of this and earlier updates', () => {
    const found = whatIf(rows, { kind: 'shares', keep: 0.5, route: 0.25, window: 2 });
    expect(found.cuts.get(1)).toEqual({ low: 1, high: 1.5 });
    expect(found.cuts.get(2)).toEqual({ low: 2.5, high: 3.25 });
    const alone = whatIf(rows, { kind: 'shares', keep: 0.5, route: 0.25, window: 1 });
    expect(alone.cuts.get(2)?.low).toBe(3.5);
  });

  it('keep only what is praised, where the gate does', () => {
    const low = [row(1, 0, { advantage: -1 }), row(1, 0.5)];
    const cuts = { kind: 'fixed', low: 1, high: 2 } as const;
    expect(whatIf(low, cuts).routes.keep.rollouts).toBe(2);
    expect(whatIf(low, cuts, true).routes).toMatchObject({ keep: { rollouts: 1 }, absorb: { rollouts: 1 } });
  });

  it('say nothing where there is nothing to divide by', () => {
    const nothing = { precision: null, recall: null, base: null };
    const claims = { attempts: nothing, hacks: nothing };
    expect(whatIf([], { kind: 'recorded' })).toMatchObject({ claims, quarantined: null });
  });
});
