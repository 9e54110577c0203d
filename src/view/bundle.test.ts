import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { writeBundle } from './bundle.ts';

/** The kinds of answers that a view.html has inside. */
function inlineKinds(folder: string): Set<string> {
  const html = readFileSync(join(folder, 'view.html'), 'utf8');
  const data = /<script id="gq-data"[^>]*>([^<]*)</.exec(html)?.[1] ?? '';
  const keys = Object.keys(JSON.parse(gunzipSync(Buffer.from(data, 'base64')).toString()));
  return new Set(keys.map((key) => key.split(' ')[0]));
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
  expect(inlineKinds(whole)).toEqual(new Set([...kinds, 'files', 'rollouts.jsonl', 'verdicts.jsonl', 'tokens']));
  expect(JSON.parse(readFileSync(join(small, 'data/list.json'), 'utf8'))).toHaveProperty([
    'files one',
    'rollouts',
    'name',
  ]);
});
