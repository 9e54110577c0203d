/** Names of before: they do what they did, and say on stderr what is written now; nothing else knows them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { unpackStudy } from '../../test/golden-study/study.ts';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { gq } from '../../test/run-gq.ts';
import { commandTable, oldNames, renameCall } from './table.ts';

const home = temporaryFolder();
const run = join(home, 'golden-study', 'activation-1');
beforeAll(() => unpackStudy(home));

const note = (old: string, now: string) => `gq ${old} is now gq ${now}; the old name goes with the next version\n`;

it.each([
  [['gate', run, '--json'], ['measure', 'gate', run, '--json'], note('gate', 'measure gate')],
  [['traces', run], ['measure', 'traces', run], note('traces', 'measure traces')],
  [['replay', run, '--window', '0'], ['measure', 'replay', run, '--window', '0'], note('replay', 'measure replay')],
  [['labels', run, '--json'], ['measure', 'labels', run, '--json'], note('labels', 'measure labels')],
  [
    ['prefill-curve', run, '--set=nonsense'],
    ['eval', run, '--prefill', '--sets', 'nonsense'],
    note('prefill-curve', 'eval --prefill, --set is --sets'),
  ],
  [
    ['export-log', run, '--format', 'trackio', '--to', run],
    ['export', run, '--log', 'trackio', '--to', run],
    note('export-log', 'export, --format is --log'),
  ],
])('%j is %j', async (old, now, line) => {
  const [before, after] = [await gq(...old), await gq(...now)];
  expect(after.out.length + after.err.length).toBeGreaterThan(40);
  expect(before).toEqual({ ...after, err: `${line}${after.err}` });
});

it('a report is the same file, but for the command that made it', async () => {
  const [old, now] = ['old.html', 'now.html'].map((name) => join(home, name));
  const study = join(home, 'golden-study');
  expect(await gq('report', study, '--out', old)).toMatchObject({ code: 0, out: expect.stringContaining(old) });
  expect(await gq('results', study, '--html', '--out', now)).toMatchObject({ code: 0 });
  const called = (file: string): string => readFileSync(file, 'utf8').replaceAll(/gq (?:report|results)[^<]*/g, 'CALL');
  expect(called(old)).toBe(called(now));
});

it('are in no help and no completion, and queue takes them', async () => {
  const help = (await gq('--help')).out;
  const completed = (await gq('completion', '--words', '--', '')).out.split('\n');
  for (const name of oldNames) {
    expect(help).not.toMatch(new RegExp(`^  ${name} `, 'm'));
    expect(completed).not.toContain(name);
    const { words } = renameCall([...name.split(' '), 'x']);
    expect(commandTable.some((entry) => entry.name === words[0])).toBe(true);
    expect((await gq('help', ...name.split(' '))).out).toContain(`Usage: gq ${words[0]}`);
  }
  expect(await gq('queue', 'add', 'gate', run, '--nonsense')).toMatchObject({ code: 2, out: '' });
});

it('words after the name stay as they are', () => {
  expect(renameCall(['train', 'gate', '--set', 'a=b'])).toEqual({
    words: ['train', 'gate', '--set', 'a=b'],
    note: null,
  });
  expect(renameCall(['elicit', 'r', '--set', 'a=b', '--prompts', 'train']).words).toEqual([
    ...['eval', '--elicit', 'r', '--set', 'a=b', '--sets', 'train'],
  ]);
});
