import { expect, it } from 'vitest';
import { type AttributedRollout, attributeGradient, attributionWindows } from './attribution.ts';

const row = (changes: Partial<AttributedRollout>): AttributedRollout => ({
  update: 1,
  group: 0,
  route: 'absorb',
  trained: true,
  advantage: 1,
  attempt: false,
  sampled: 'full',
  deployedNorm: 1,
  ...changes,
});

// Energies: 0, 9, 4 and 4, 1, 2; one that was not trained. 20 in all.
const rows = [
  row({ attempt: true, route: 'route', deployedNorm: 0 }),
  row({ advantage: -1, deployedNorm: 3 }),
  row({ advantage: -1, deployedNorm: 2, sampled: 'deployed' }),
  row({ advantage: -2, deployedNorm: 2, sampled: 'deployed' }),
  row({ advantage: 0, group: 1 }),
  row({ update: 12, attempt: true, deployedNorm: Math.SQRT2 }),
  row({ update: 12, trained: false, route: null, deployedNorm: null }),
];

it('shares the energy of the deployed block out by route, deed, sign and sampler', () => {
  const { shares, energy, ...others } = attributeGradient(rows) ?? { shares: [] };
  expect(energy).toBeCloseTo(20, 12);
  expect(others).toEqual({ from: 1, to: 12, rollouts: 6 });
  const found = shares.map(({ route, deed, sign, sampled, rollouts, share }) => [
    ...[route, deed, sign, sampled, rollouts],
    Math.round(share * 100),
  ]);
  expect(found).toEqual([
    ['absorb', 'clean in a group with attempts', '−', 'full', 1, 45],
    ['absorb', 'clean in a group with attempts', '−', 'deployed', 2, 40],
    ['absorb', 'attempt', '+', 'full', 1, 10],
    ['absorb', 'clean', '0', 'full', 1, 5],
    ['route', 'attempt', '+', 'full', 1, 0],
  ]);
});

it('by window; nothing where no gradient reached the block', () => {
  expect(attributionWindows(rows, 10).map(({ from, to, rollouts }) => [from, to, rollouts])).toEqual([
    [1, 1, 5],
    [12, 12, 1],
  ]);
  expect(attributeGradient([row({ route: 'route', deployedNorm: 0 }), row({ deployedNorm: null })])).toBeNull();
  expect(attributeGradient([])).toBeNull();
});
