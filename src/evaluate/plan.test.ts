import { describe, expect, it } from 'vitest';
import { curveNames, finalNames, stateOfScale } from './plan.ts';

describe('what is evaluated', () => {
  it('finally: base, as trained and deployed on each set, scales on the first, none of them twice', () => {
    const sets = ['test-novel', 'train'] as const;
    const names = finalNames(['trained', 'deployed'], { update: 40, sets, scales: [0, 0.5, 1], limit: null });
    expect(names.map(({ update, set, state }) => `${update} ${set} ${state}`)).toEqual([
      '0 test-novel base',
      '40 test-novel trained',
      '40 test-novel deployed',
      '0 train base',
      '40 train trained',
      '40 train deployed',
      '40 test-novel scale-0.5',
    ]);
  });

  it('an arm without a quarantine has one state and no scales', () => {
    const names = finalNames(['trained'], { update: 4, sets: ['train'], scales: [0.5], limit: 8 });
    expect(names.map(({ state }) => state)).toEqual(['base', 'trained']);
  });

  it('on the curve: the base at 0, every tenth checkpoint, and the last one', () => {
    const names = curveNames(['trained', 'deployed'], [0, 5, 10, 20, 23], 10);
    expect(names.map(({ update, state }) => `${update} ${state}`)).toEqual([
      '0 base',
      '10 trained',
      '10 deployed',
      '20 trained',
      '20 deployed',
      '23 trained',
      '23 deployed',
    ]);
  });

  it('scale 0 is deployed and 1 is as trained', () => {
    expect([0, 0.25, 1].map(stateOfScale)).toEqual(['deployed', 'scale-0.25', 'trained']);
  });
});
