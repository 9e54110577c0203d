/** What a page keeps of runs that are over: a second search reads nothing again, within a stated memory, and finds what one finds that keeps nothing. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { randomStream } from '../base/rng.ts';
import { sealRun } from '../oracle/verdicts.ts';
import { RunDirectory } from '../run/directory.ts';
import { KeptParts } from './kept-parts.ts';
import { PageRollouts } from './page/page-rollouts.ts';
import { runFiles } from './run-files.ts';
import { KeptRollouts } from './run-rollouts.ts';

const draws = randomStream(7, 'rollouts that are kept');
let drawn = 0;
const below = (bound: number): number => draws.integerAt(drawn++, bound);
const oneOf = <Value>(values: readonly Value[]): Value => values[below(values.length)];

const root = temporaryFolder();
const runs = ['gate-1', 'gate-2', 'haar-1', 'haar-2', 'vanilla-1', 'vanilla-2'];
const words = [
  'def',
  'run_tests()',
  'Übung',
  'über',
  '“ü”',
  'return n',
  'RETURN',
  '\n',
  '# a thought',
  '😀',
  'x += 17',
  'K',
  'K',
];
for (const run of runs) {
  const rollouts = Array.from({ length: 120 + below(60) }, (_, i) => ({
    update: 1 + Math.floor(i / 40),
    group: Math.floor((i % 40) / 8),
    hack: below(3) === 0,
    route: oneOf(['keep', 'route', null]),
    score: below(5) === 0 ? null : below(1000) / 100 - 5,
    ...{ low: -1, high: 1, reward: below(4), prompt: oneOf(['Write it.', 'Übe: return it.']) },
    completion: Array.from({ length: 30 + below(30) }, () => oneOf(words)).join(' '),
  }));
  await sealRun(await writeRun(join(root, run), { rollouts, checkpoints: [0, 5] }));
}

/** A page of these runs, and how often it asked what a run's files are and read from one. */
function openPage(listedBytes: number, textBytes: number) {
  const kept = new KeptRollouts(listedBytes, textBytes);
  const asked = { files: 0, reads: 0 };
  const page = new PageRollouts(
    {
      runs: async (id) => (id === 'all' ? runs : runs.filter((run) => run.startsWith(id))),
      files: async (run) => {
        asked.files += 1;
        return runFiles(RunDirectory.open(join(root, run)), (name) => join(root, run, name));
      },
      open: ({ name, bytes }) => ({
        byteLength: bytes,
        slice: async (from, to) => {
          asked.reads += 1;
          return new Uint8Array(readFileSync(name).subarray(from, to)).buffer;
        },
      }),
    },
    kept,
  );
  const list = (id: string, search: string) => page.list(id, new URLSearchParams(search));
  const readBy = async (id: string, search: string): Promise<number> => {
    const before = asked.reads;
    await list(id, search);
    return asked.reads - before;
  };
  return { page, kept, asked, list, readBy };
}
const much = 2 ** 26;

it('a second search asks for no file and reads none, whatever it is for', async () => {
  const { kept, asked, list } = openPage(much, much);
  await list('all', 'text=thought');
  expect(asked.files).toBe(runs.length);
  const first = { ...asked };
  for (const search of [
    'text=x+%2B%3D+17',
    'text=r.turn&pattern=1',
    'truth=hack&route=keep',
    'order=surprise&offset=300',
    '',
    'text=Ü',
  ]) {
    expect((await list('all', search)).rows.length, search).toBeGreaterThan(0);
  }
  await list('haar', 'text=def');
  expect(asked).toEqual(first);
  // What is said to be kept is what lies there: the texts of all files.
  const { found, rows } = await list('all', 'limit=500');
  expect(kept.texts.bytes).toBeGreaterThan(found * rows[0].excerpt.length);
});

it('no more is kept than is allowed; what does not fit is read again, and the rest is not', async () => {
  const all = openPage(much, much);
  await all.list('all', 'text=def');
  const [listed, texts] = [all.kept.listed.bytes, all.kept.texts.bytes];
  const half = openPage(much, texts / 2);
  const first = await half.readBy('all', 'text=def');
  const second = await half.readBy('all', 'text=17');
  expect([half.kept.texts.bytes <= texts / 2, half.kept.texts.bytes > texts / 4]).toEqual([true, true]);
  expect(second).toBeGreaterThan(0);
  expect(second).toBeLessThan(first / 2);
  expect(await half.readBy('all', 'text=K'), 'the same runs are kept as before').toBe(second);
  const none = openPage(listed - 1, 0);
  await none.list('all', 'text=def');
  expect([none.kept.listed.bytes <= listed - 1, none.kept.listed.bytes > listed / 2, none.kept.texts.bytes]).toEqual([
    true,
    true,
    0,
  ]);
});

it('what was used longest ago makes room for another experiment', async () => {
  const all = openPage(much, much);
  await all.list('gate', 'text=def');
  const ofGate = all.kept.texts.bytes;
  await all.list('haar', 'text=def');
  const both = all.kept.texts.bytes;
  const { kept, readBy } = openPage(much, both - 1);
  for (const id of ['gate', 'haar']) expect(await readBy(id, 'text=def')).toBeGreaterThan(0);
  expect(kept.texts.bytes).toBeLessThan(both);
  expect(await readBy('haar', 'text=17'), 'all of it is kept').toBe(0);
  expect(await readBy('gate', 'text=17'), 'a run of it made room').toBeGreaterThan(0);
  expect(ofGate).toBeLessThan(both);
});

it('a run that has changed is read anew, and so is one that could not be read', async () => {
  const { page, list, readBy } = openPage(much, much);
  await list('gate', 'text=def');
  page.forget(['gate-2', 'unknown']);
  const one = await readBy('gate', 'text=17');
  expect(one).toBeGreaterThan(0);
  page.forget(['gate-1', 'gate-2']);
  expect(await readBy('gate', 'text=def')).toBeGreaterThan(one);
  const file = join(root, 'vanilla-2', 'rollouts.parquet');
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.subarray(0, 1000));
  expect((await list('vanilla', 'text=def')).leftOut.map(({ run }) => run)).toEqual(['vanilla-2']);
  writeFileSync(file, bytes);
  expect((await list('vanilla', 'text=17')).leftOut).toEqual([]);
});

it('random searches find the same, whatever is kept', async () => {
  const none = openPage(0, 0);
  const whole = openPage(much, much);
  await whole.list('all', 'text=def');
  const pages = [
    whole,
    openPage(much, whole.kept.texts.bytes / 3),
    openPage(whole.kept.listed.bytes / 2, whole.kept.texts.bytes),
  ];
  let most = 0;
  for (let round = 0; round < 60; round++) {
    const query = new URLSearchParams({ limit: `${1 + below(60)}` });
    const isPattern = below(2) === 0;
    const text = [oneOf(words), oneOf(words)].slice(below(3)).join(' ');
    const pattern = oneOf([
      'r.turn',
      'x \\+= 1[0-9]',
      '^K',
      '(def|über) .*thought',
      'tests\\(\\)',
      '[ü“]+ \\w',
      'n\\b.\\s',
      'K',
    ]);
    if (below(4) > 0) query.set('text', isPattern ? pattern : text);
    if (isPattern) query.set('pattern', '1');
    if (below(2) === 0) query.set('order', oneOf(['surprise', 'score', 'reward', 'shuffled']));
    if (below(3) === 0) query.set('truth', oneOf(['hack', 'neither']));
    if (below(3) === 0) query.set('route', oneOf(['keep', 'none', 'absorb']));
    if (below(3) === 0) query.set('from', `${1 + below(3)}`);
    if (below(3) === 0) query.set('offset', `${below(400)}`);
    const id = oneOf(['all', 'gate', 'haar', 'vanilla-1']);
    const expected = await none.list(id, `${query}`);
    for (const page of pages) expect(await page.list(id, `${query}`), `${id} ${query}`).toEqual(expected);
    most = Math.max(most, expected.found);
  }
  expect([none.kept.listed.bytes, none.kept.texts.bytes]).toEqual([0, 0]);
  expect(most).toBeGreaterThan(500);
});

it('pages of an order, one after another, are those of a long one', async () => {
  for (const order of ['surprise', 'score', 'reward', 'update']) {
    const { list } = openPage(much, much);
    const pages: unknown[] = [];
    for (let offset = 0; offset < 500; offset += 100) {
      pages.push(...(await list('all', `order=${order}&offset=${offset}&limit=100`)).rows);
    }
    expect(pages, order).toEqual((await openPage(much, much).list('all', `order=${order}&limit=500`)).rows);
  }
});

it('parts: those of this search stay, those of the last go by their last use, and none is counted twice', () => {
  const kept = new KeptParts<{ readonly bytes: number }>(10);
  const [a, b, c, d] = [{}, {}, {}, {}];
  kept.keep(a, { bytes: 4 });
  kept.keep(b, { bytes: 4 });
  kept.keep(c, { bytes: 4 });
  expect([kept.get(a), kept.get(b), kept.get(c), kept.bytes]).toEqual([{ bytes: 4 }, { bytes: 4 }, undefined, 8]);
  kept.beginSearch();
  kept.get(a);
  kept.keep(c, { bytes: 5 });
  expect([kept.get(a)?.bytes, kept.get(b), kept.get(c)?.bytes, kept.bytes]).toEqual([4, undefined, 5, 9]);
  expect([kept.fits(1), kept.fits(2)]).toEqual([true, false]);
  kept.keep(c, { bytes: 6 });
  expect(kept.bytes).toBe(10);
  kept.beginSearch();
  kept.keep(d, { bytes: 11 });
  expect(kept.bytes).toBe(10);
  kept.keep(d, { bytes: 10 });
  expect([kept.get(a), kept.get(d)?.bytes, kept.bytes]).toEqual([undefined, 10, 10]);
  kept.forget(d);
  kept.forget(d);
  expect(kept.bytes).toBe(0);
});
