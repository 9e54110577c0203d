import { describe, expect, it } from 'vitest';
import { curveNames, expectPoints, finalNames } from './plan.ts';

describe('what is evaluated', () => {
  it('finally: base, as trained and deployed on each set, scales on the first, none of them twice', () => {
    const sets = ['test-novel', 'train'] as const;
    const names = finalNames(['full', 'deployed'], { update: 40, sets, scales: [0, 0.5, 1], limit: null });
    expect(names.map(({ update, set, state }) => `${update} ${set} ${state}`)).toEqual([
      '0 test-novel base',
      '40 test-novel full',
      '40 test-novel deployed',
      '0 train base',
      '40 train full',
      '40 train deployed',
      '40 test-novel scale-0.5',
    ]);
  });

  it('an arm without a quarantine has one state and no scales', () => {
    const names = finalNames(['full'], { update: 4, sets: ['train'], scales: [0.5], limit: 8 });
    expect(names.map(({ state }) => state)).toEqual(['base', 'full']);
  });

  it('on the curve of another set: that set, at every checkpoint', () => {
    const names = curveNames(['full'], [0, 5, 8], 1, 'test-unhinted');
    expect(names.map(({ update, set, state }) => `${update} ${set} ${state}`)).toEqual([
      '0 test-unhinted base',
      '5 test-unhinted full',
      '8 test-unhinted full',
    ]);
  });

  it('on the curve: the base at 0, every tenth checkpoint, and the last one', () => {
    const names = curveNames(['full', 'deployed'], [0, 5, 10, 20, 23], 10);
    expect(names.map(({ update, state }) => `${update} ${state}`)).toEqual([
      '0 base',
      '10 full',
      '10 deployed',
      '20 full',
      '20 deployed',
      '23 full',
      '23 deployed',
    ]);
  });
});

describe('points of a curve that were never saved', () => {
  it.each([
    [
      [0, 30, 60],
      20,
      '--every 20: expected a checkpoint after update 20, 40, found checkpoints after 30, 60. Take points that were saved: --every 30',
    ],
    [[0, 2, 4, 6, 8], 3, 'after update 3, found checkpoints after 2, 4, 6, 8'],
  ])('are refused where saved ones would be passed over: %j every %i', (checkpoints, every, message) => {
    expect(() => expectPoints(checkpoints, every)).toThrow(message);
  });

  it.each([
    [[0, 10, 20, 25], 10],
    [[0, 10, 20, 25], 5],
    [[0, 10, 20, 30, 40], 20],
    [[0, 2], 20],
    [[0], 1],
  ])('are none in %j every %i', (checkpoints, every) => {
    expectPoints(checkpoints, every);
  });
});
