import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { PackedRows } from './packed-rows.ts';
import { besideHeap, searchRows } from './search-rows.ts';

test('rows that are packed are as they were: narrow and wide texts, nulls, many different numbers', async () => {
  const rollouts = Array.from({ length: 300 }, (_, i) => ({
    update: i + 1,
    score: i % 7 === 0 ? null : i / 3,
    route: i % 2 === 0 ? null : 'keep',
    hack: i % 3 === 0,
    completion: ['', 'plain', 'ümlaut \u00ff', '“wide” 汉字'][i % 4] + i,
  }));
  const run = await writeRun(join(temporaryFolder(), 'run'), { rollouts, checkpoints: [0, 300], finished: false });
  const rows = await searchRows(run, 'a/run');
  const packed = new PackedRows(rows, besideHeap);
  expect(Array.from({ length: packed.length }, (_, i) => packed.at(i))).toEqual(rows);
  expect(packed.at(300)).toBeUndefined();
  expect(packed.prompts.values).toHaveLength(new Set(rows.map(({ prompt }) => prompt)).size);
});
