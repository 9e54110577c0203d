import { expect, test } from 'vitest';
import { routeWords, scoreWords } from './rollout-words.ts';

const unwatched = { score: null, low: null, high: null, suspicion: null, flagged: null };

test.each([
  ['none', {}],
  ['-2.51, no cuts yet', { score: -2.51 }],
  ['-2.01, cuts -2.53 and -2.25', { score: -2.01, low: -2.53, high: -2.25 }],
  ['2.00, flagged', { suspicion: 2, flagged: true }],
  ['0.00, not flagged', { suspicion: 0, flagged: false }],
  ['none: the monitor abstained, flagged', { flagged: true }],
])('the score of a rollout: %s', (words, said) => {
  expect(scoreWords({ ...unwatched, ...said })).toBe(words);
});

test('the route of a rollout', () => {
  const routes = ['keep', 'absorb', 'route', null].map(routeWords);
  expect(routes).toEqual(['kept', 'absorbed', 'routed to the quarantine', 'no route']);
});
