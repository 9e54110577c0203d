import { expect, test } from 'vitest';
import type { GateRow } from './api.ts';
import { flowMeasures, flowOf } from './flow.ts';

const row = (given: Partial<GateRow>): GateRow => ({
  id: '1-0-0',
  update: 1,
  score: 0,
  low: null,
  high: null,
  route: 'keep',
  attempt: false,
  hack: false,
  solve: false,
  advantage: -2,
  deployedNorm: null,
  quarantineNorm: null,
  ...given,
});

const rows = [
  row({ attempt: true, hack: true, route: 'absorb', deployedNorm: 1, quarantineNorm: 3 }),
  row({ attempt: true, hack: true, route: 'absorb', deployedNorm: 2, quarantineNorm: 0 }),
  row({ attempt: true, hack: true, route: 'route', deployedNorm: 0, quarantineNorm: 5, advantage: 1 }),
  row({ solve: true }),
  row({ solve: true, attempt: true, route: 'route', deployedNorm: 0, quarantineNorm: 1, advantage: 0 }),
];

test('a rollout flows into the blocks by how hard it pulled on each', () => {
  const at = (measure: 'count' | 'weight' | 'mass', verdict: string, route: string) =>
    flowOf(rows, measure)
      .filter((part) => part.verdict === verdict && part.route === route)
      .map(({ value }) => value);
  expect(at('count', 'attempt, hack', 'absorb'), 'deployed, quarantine, not recorded').toEqual([1.25, 0.75, 0]);
  expect(at('weight', 'attempt, hack', 'absorb')).toEqual([2.5, 1.5, 0]);
  expect(at('mass', 'attempt, hack', 'absorb')).toEqual([3, 3, 0]);
  expect(at('mass', 'attempt, hack', 'route')).toEqual([0, 5, 0]);
  expect(at('count', 'clean solve', 'keep')).toEqual([0, 0, 1]);
  expect(at('mass', 'attempt, solved', 'route'), 'a right program that opened a loophole').toEqual([0, 1, 0]);
});

test.each(flowMeasures)('by %s as much arrives as set out', (measure) => {
  const sum = flowOf(rows, measure).reduce((all, { value }) => all + value, 0);
  expect(sum).toBeCloseTo({ count: 5, weight: 7, mass: 12 }[measure]);
});
