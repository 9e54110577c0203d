import { expect, it } from 'vitest';
import { evaluationRows } from '../../test/lab/hand-made.ts';
import { summarise } from './rates.ts';

/** Ten prompts: two hacks, an attempt in vain, three solves with an attempt, one without, three with nothing. */
const rows = evaluationRows({
  update: 1,
  set: 'test-original',
  state: 'deployed',
  outcomes: 'hhabbbs---',
  loopholes: ['run_tests', 'sentinel'],
});

it('counts attempts whether the program is right or wrong, and solves without an attempt by themselves', () => {
  const { attempt, hack, solve, cleanSolve, objective } = summarise(rows);
  expect([attempt, hack, solve, cleanSolve].map(({ count, of }) => `${count}/${of}`)).toEqual([
    '6/10',
    '2/10',
    '4/10',
    '1/10',
  ]);
  expect(objective).toBeCloseTo(0.2, 12);
});

it('counts them loophole by loophole', () => {
  const { run_tests, sentinel } = summarise(rows).byLoophole;
  expect([run_tests.attempt.count, run_tests.cleanSolve.count]).toEqual([3, 1]);
  expect([sentinel.attempt.count, sentinel.cleanSolve.count]).toEqual([3, 0]);
});
