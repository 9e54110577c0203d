import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { openJudged, sealRun } from '../oracle/index.ts';
import { rolloutDetails } from './api.ts';
import { ledgerRows } from './run-page.ts';
import { searchRows } from './search-rows.ts';
import { searchWithin } from './time-limit.ts';

const rollouts = Array.from({ length: 20 }, (_, i) => ({
  update: 1 + Math.floor(i / 4),
  hack: i % 3 === 0,
  solve: i % 5 === 1,
  route: i % 2 === 0 ? 'keep' : null,
  score: i % 4 === 0 ? null : i / 8,
  completion: `answer ${i} “ü”`,
}));

const made = () => writeRun(join(temporaryFolder(), 'run'), { rollouts, checkpoints: [0, 5], finished: false });
const details: ReadonlySet<string> = new Set(rolloutDetails);
const withoutDetails = (row: object) => Object.fromEntries(Object.entries(row).filter(([name]) => !details.has(name)));

describe('the rollouts of a search', () => {
  it('are those of the ledger, from its lines and from its Parquet', async () => {
    const run = await made();
    const expected = (await ledgerRows(run, 'a/run')).map(withoutDetails);
    expect(await searchRows(run, 'a/run')).toEqual(expected);
    await sealRun(run);
    expect(await searchRows(run, 'a/run')).toEqual(expected);
    expect((await ledgerRows(run, 'a/run')).map(withoutDetails)).toEqual(expected);
  });

  it('grow with the run, and begin again with one that was cut back', async () => {
    const run = await made();
    const files = (['rollouts', 'verdicts'] as const).map((name) => run.ledger(name));
    const whole = files.map((path) => readFileSync(path, 'utf8'));
    const firstLines = (text: string, count: number) => `${text.split('\n').slice(0, count).join('\n')}\n`;
    const write = (count: number) => files.map((path, i) => writeFileSync(path, firstLines(whole[i], count)));
    write(3);
    const table = openJudged(run);
    const look = () => searchRows(run, 'run', table);
    const first = await look();
    expect(first).toHaveLength(3);
    write(20);
    expect((await look()).map(({ completion }) => completion)).toEqual(rollouts.map(({ completion }) => completion));
    expect(first).toHaveLength(3);
    for (const path of files) truncateSync(path, 0);
    expect(await look()).toEqual([]);
  });

  it('are refused without their verdicts', async () => {
    const run = await made();
    truncateSync(run.ledger('verdicts'), 0);
    await expect(searchRows(run, 'run')).rejects.toThrow('expected a verdict of rollout 1-0-0, found none');
  });
});

describe('a search that goes on for ever', () => {
  it('is stopped, and says what to write instead', () => {
    const text = `${'a'.repeat(200)}!`;
    expect(() => searchWithin(() => /^(a+)+$/.test(text), 50)).toThrow('expected a search that ends within 0.05 s');
    expect(searchWithin(() => /^a+$/.test(text), 50)).toBe(false);
  });

  it('is told from an error of its own', () => {
    const wrong = new RangeError('own');
    const work = () => {
      throw wrong;
    };
    expect(() => searchWithin(work, 50)).toThrow(wrong);
  });
});
