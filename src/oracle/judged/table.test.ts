import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../../test/lab/hand-made.ts';
import { writeSeal } from '../../run/checksums.ts';
import { rolloutColumns } from '../../run/columns/index.ts';
import { readCourse, sealTable } from '../../run/read.ts';
import { openJudged, sealRun } from '../verdicts.ts';
import { verdictColumns } from './columns.ts';

const rollouts = [
  { update: 1, hack: true, score: 1.5 },
  { update: 2, solve: true, route: null, trained: false },
];

describe('the judged ledger', () => {
  it('joins rollouts with their verdicts, as lines and sealed', async () => {
    const run = await writeRun(join(temporaryFolder(), 'run'), { rollouts, steps: [{ update: 1 }, { update: 2 }] });
    const before = await (await openJudged(run)).rows();
    expect(before.map(({ hack, solve, score, route }) => ({ hack, solve, score, route }))).toEqual([
      { hack: true, solve: false, score: 1.5, route: 'absorb' },
      { hack: false, solve: true, score: null, route: null },
    ]);
    await sealRun(run);
    expect(await (await openJudged(run)).rows()).toEqual(before);
    const { steps, status } = await readCourse(run);
    expect([steps.map(({ update }) => update), status]).toEqual([[1, 2], 'finished']);
  });

  it('has null for a column that an earlier version did not write, as lines and sealed', async () => {
    const run = await writeRun(join(temporaryFolder(), 'run'), { rollouts });
    const { suspicion: _absent, ...earlier } = rolloutColumns;
    const lines = readFileSync(run.ledger('rollouts'), 'utf8').trimEnd().split('\n');
    const without = lines.map((line) => JSON.stringify({ ...JSON.parse(line), suspicion: undefined }));
    writeFileSync(run.ledger('rollouts'), `${without.join('\n')}\n`);
    const before = await (await openJudged(run)).rows(['id', 'suspicion', 'hack']);
    expect(before.map(({ suspicion, hack }) => [suspicion, hack])).toEqual([
      [null, true],
      [null, false],
    ]);
    await sealTable(run.file('rollouts'), earlier);
    await sealTable(run.file('verdicts'), verdictColumns);
    await writeSeal(run.path, 0);
    for (const name of ['rollouts', 'verdicts'] as const) rmSync(run.ledger(name));
    expect(await (await openJudged(run)).rows(['id', 'suspicion', 'hack'])).toEqual(before);
  });

  it('refuses a rollout without a verdict and says which', async () => {
    const run = await writeRun(join(temporaryFolder(), 'run'), { rollouts, finished: false });
    writeFileSync(run.ledger('verdicts'), '');
    await expect((await openJudged(run)).rows()).rejects.toThrow('a verdict of rollout 1-0-0');
    expect((await readCourse(run)).status).toBe('unfinished');
  });
});
