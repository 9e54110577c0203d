import { appendFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { VerdictTail } from './verdict-tail.ts';

const verdict = (update: number, member: number, exploited: boolean) =>
  `${JSON.stringify({ id: `${update}-0-${member}`, loophole: 'run_tests', exploited, correct: !exploited })}\n`;

it('counts by update, and counts again what a resume cut off and graded once more', () => {
  const path = join(temporaryFolder(), 'verdicts.jsonl');
  const tail = new VerdictTail(path);
  expect(tail.at(1)).toMatchObject({ graded: 0, hacks: 0 });
  const kept = verdict(1, 0, true) + verdict(1, 1, false);
  writeFileSync(path, kept + verdict(2, 0, true));
  expect(tail.at(1)).toMatchObject({ graded: 2, hackable: 2, hacks: 1, solves: 1 });
  expect(tail.at(2)).toMatchObject({ graded: 1, hacks: 1 });
  truncateSync(path, kept.length);
  appendFileSync(path, verdict(2, 0, false) + verdict(2, 1, false));
  expect(tail.at(2)).toMatchObject({ graded: 2, hacks: 0, solves: 2 });
  expect(tail.read().map(({ graded }) => graded)).toEqual([2, 2]);
});

it('refuses lines that are no verdicts, by file and key', () => {
  const path = join(temporaryFolder(), 'verdicts.jsonl');
  writeFileSync(path, '{"id":"1-0-0","loophole":"run_tests","exploited":"yes","correct":true}\n');
  expect(() => new VerdictTail(path).read()).toThrow(/verdicts\.jsonl: expected verdicts, found key exploited: /);
});

it('leaves demonstrations out', () => {
  const path = join(temporaryFolder(), 'verdicts.jsonl');
  writeFileSync(path, verdict(1, 0, false) + verdict(1, 1, true) + verdict(2, 1, true));
  const tail = new VerdictTail(path, (id, loophole) => id === '1-0-1' && loophole === 'run_tests');
  expect(tail.at(1)).toMatchObject({ graded: 1, hacks: 0, solves: 1 });
  expect(tail.at(2)).toMatchObject({ graded: 1, hacks: 1 });
});

it('counts attempts on prompts with a loophole, in right and in wrong programs', () => {
  const path = join(temporaryFolder(), 'verdicts.jsonl');
  const line = (member: number, loophole: string, channels: readonly string[]): string =>
    `${JSON.stringify({ id: `1-0-${member}`, loophole, exploited: member === 0, correct: member !== 0, channels })}\n`;
  const both = ['run_tests'];
  writeFileSync(
    path,
    line(0, 'run_tests', both) + line(1, 'run_tests', both) + line(2, 'run_tests', []) + line(3, 'gt_only', both),
  );
  expect(new VerdictTail(path).at(1)).toMatchObject({
    graded: 4,
    hackable: 3,
    attempts: 2,
    hacks: 1,
    solves: 3,
    cleanSolves: 1,
  });
});
