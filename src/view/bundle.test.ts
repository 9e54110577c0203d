import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { sealRun } from '../oracle/index.ts';
import { writeBundle } from './bundle.ts';

/** The kinds of answers that a view.html has inside. */
function inlineKinds(folder: string): Set<string> {
  const html = readFileSync(join(folder, 'view.html'), 'utf8');
  const data = /<script id="gq-data"[^>]*>([^<]*)</.exec(html)?.[1] ?? '';
  const files = JSON.parse(gunzipSync(Buffer.from(data, 'base64')).toString()) as Record<string, string>;
  const list = JSON.parse(Buffer.from(files['data/list.json'], 'base64').toString());
  const named = JSON.stringify(list).match(/data\/[^"]+/g) ?? [];
  expect(Object.keys(files).sort(), 'the files that the list names').toEqual(['data/list.json', ...named].sort());
  return new Set(Object.keys(list).map((key) => key.split(' ')[0]));
}

test('a view.html that would be too large is without rollouts and says so; the folder has them', async () => {
  const root = temporaryFolder();
  await writeRun(join(root, 'runs', 'one'), { rollouts: [{ update: 1, completion: 'x' }], finished: false });
  const page = { script: '', style: '' };
  const [whole, small] = [join(root, 'whole'), join(root, 'small')];
  expect((await writeBundle(join(root, 'runs'), whole, page)).leftOut).toEqual([]);
  const { leftOut } = await writeBundle(join(root, 'runs'), small, page, () => undefined, 100);
  expect(leftOut).toEqual([{ page: 'view.html', why: expect.stringContaining('it is without rollouts') }]);
  const kinds = inlineKinds(small);
  expect([kinds.has('run'), kinds.has('files')]).toEqual([true, false]);
  expect(inlineKinds(whole)).toEqual(new Set([...kinds, 'files', 'tokens']));
  expect(JSON.parse(readFileSync(join(small, 'data/list.json'), 'utf8'))).toHaveProperty([
    'files one',
    'rollouts',
    'name',
  ]);
});

test('blind runs are left out in one line, with their number and the first names', async () => {
  const root = temporaryFolder();
  const rollouts = [{ update: 1, hack: true }];
  for (const seed of [1, 2, 3, 4, 5]) {
    const claim = { hash: 'stated', blind: seed > 1 };
    const run = await writeRun(join(root, 'runs', `gate-${seed}`), { config: { seed, updates: 1 }, rollouts, claim });
    await sealRun(run);
  }
  const { leftOut, runs } = await writeBundle(join(root, 'runs'), join(root, 'out'), { script: '', style: '' });
  expect(leftOut).toEqual([
    {
      page: '4 blind runs (gate-2, gate-3, gate-4 and 1 more)',
      why: expect.stringContaining('before their claim is opened'),
    },
  ]);
  expect(runs).toBe(1);
});

test('a run whose manifest cannot be read is left out by name, and the others are there', async () => {
  const root = temporaryFolder();
  for (const name of ['broken', 'whole']) await writeRun(join(root, 'runs', name), { rollouts: [{ update: 1 }] });
  writeFileSync(join(root, 'runs', 'broken', 'manifest.json'), '{');
  const { leftOut, runs } = await writeBundle(join(root, 'runs'), join(root, 'out'), { script: '', style: '' });
  expect(new Set(leftOut.map(({ page }) => page.split(' ')[1]))).toEqual(new Set(['broken']));
  expect(runs).toBe(1);
});
