import { expect, test, vi } from 'vitest';
import type { ExperimentPage, ListedRun } from '../api.ts';

// The address of a page, which only a browser has.
vi.stubGlobal('location', { hash: '' });
const { experimentDoor, gateDoor } = await import('./doors.ts');

const run = (arm: string, seed: number, status = 'finished') =>
  ({ id: `claim/${arm}-${seed}`, arm, seed, status }) as ListedRun;

const page = {
  id: 'claim',
  baseline: 'vanilla',
  arms: ['vanilla', 'gate', 'gate b', 'late'].map((arm) => ({ arm, usesLabels: false, isPlacebo: false })),
  runs: [
    run('vanilla', 2),
    run('vanilla', 3),
    run('gate', 1),
    run('gate', 3),
    run('gate b', 9),
    run('late', 1, 'not started'),
  ],
  matrices: [{ set: 'test-original', title: 'held-out problems', loopholes: [], cells: [] }],
} as unknown as ExperimentPage;

test.each([
  ['rates', 'held-out problems, original markers', ['gate', '0.1'], 'answers/claim?arm=gate&set=test-original'],
  ['an arm whose name begins with another', 'rates', ['gate b, n = 1'], 'answers/claim?arm=gate+b'],
  ['the base', 'held-out problems', ['base'], 'answers/claim?arm=vanilla&set=test-original'],
  ['the base of an arm', 'rates', ['base of gate'], 'answers/claim?arm=gate'],
  ['samples of training', 'hack while training', ['gate'], 'rollouts/claim?arm=gate'],
  ['a monitor', 'the monitor as a classifier', ['gate'], 'rollouts/claim?arm=gate'],
  [
    'a difference',
    'paired differences, held-out problems',
    ['gate − vanilla'],
    'compare/claim%2Fgate-3?with=claim%2Fvanilla-3&set=test-original',
  ],
  ['a difference of arms without a common seed', 'paired differences', ['gate b − vanilla'], null],
  ['an arm that has not begun', 'rates', ['late'], null],
  ['no arm', 'rates', ['all'], null],
])('%s of an experiment', (_name, title, row, to) => {
  const door = experimentDoor(page, { title, columns: ['arm', 'hack'] });
  expect(door(row, 1)).toBe(to === null ? null : `#/${to}`);
});

test('a row of a loophole leads to the answers to its prompts', () => {
  const door = experimentDoor(page, { title: 'by loophole', columns: ['loophole', 'arm', 'hack'] });
  expect(door(['sentinel', 'gate', '0.5'], 2)).toBe('#/answers/claim?arm=gate&loophole=sentinel');
});

test('a window of a gate leads to the rollouts of its updates, a column of praised ones to those', () => {
  const door = gateDoor('claim/gate-1');
  expect(door(['11-20', '5'], 1)).toBe('#/rollouts/claim%2Fgate-1?from=11&to=20');
  expect(door(['AUROC', '0.9', '0.8'], 2)).toBe('#/rollouts/claim%2Fgate-1?advantage=above+0');
  expect(door(['AUROC', '0.9', '0.8'], 1)).toBe('#/rollouts/claim%2Fgate-1');
});
