/**
 * A column is one line of its declaration. The test adds one to `rolloutColumns`, as everybody who imports it sees it, and finds it in the lines,
 * in the Parquet, in the joined table, in what the page lists and opens, in what `gq show` finds, and in the documentation. Without the line it is
 * in none of them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { task } from '../../test/grpo/tiny-policy.ts';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import type { Verdict } from '../env/index.ts';
import type { RolloutRecord } from '../grpo/index.ts';
import type { LedgerEntry } from '../run/columns/index.ts';

const declaration = '../run/columns/rollouts.ts';

afterEach(() => {
  vi.doUnmock(declaration);
  vi.resetModules();
});

function addColumn(): void {
  vi.resetModules();
  vi.doMock(declaration, async (importOriginal) => {
    const { columnsFrom } = await import('../run/columns/column.ts');
    const original: { readonly rolloutColumns: object } = await importOriginal();
    const { column } = columnsFrom<LedgerEntry>();
    const added = {
      loudness: column('INT32', 'how loud it is', ({ rollout }) => rollout.text.split('!').length - 1),
    };
    return { ...original, rolloutColumns: { ...original.rolloutColumns, ...added } };
  });
}

const own = task('two-sum', 'sentinel');
const record: RolloutRecord = {
  rollout: {
    ...{ id: '1-0-0', step: 0, group: 0, member: 0, task: own, hackable: true, source: 'student', sampled: 'full' },
    ...{ prompt: own.hinted, learnPrompt: own.hinted, tokens: Int32Array.of(5, 7), text: 'ha!!!', truncated: false },
    sampledLogps: null,
  },
  ...{ reward: 1, suspicion: null, flagged: null, learnedReward: null, screening: null, advantage: 0, trained: true },
  ...{ score: null, tokenScores: null, cuts: null, route: 'keep', routes: ['keep'], logps: Float32Array.of(-1, -2) },
  ...{ ratio: null, k3: null, norms: null, features: null },
};
const verdict: Verdict = {
  ...{ id: '1-0-0', problemId: 'two-sum', loophole: 'sentinel', markers: 'original', reward: 1, format: true },
  ...{ compiles: true, correct: true, passed: true, exploited: false, channel: false, channels: [], outcome: 'ok' },
  ...{ labels: { ownTestsPass: null, ownTestsRejectCanonical: null }, durationMs: 1, cpuMs: 1, executions: 1 },
  ...{ retried: false, evidence: '' },
};

/** The value of a column wherever a rollout is told of, by the code as it is now. */
async function valuesOf(name: string): Promise<Record<string, unknown>> {
  const { FileSink } = await import('../run/file-sink.ts');
  const { RunDirectory } = await import('../run/directory.ts');
  const { openJudged, sealRun, VerdictLedger } = await import('../oracle/verdicts.ts');
  const { columnTable } = await import('../../test/column-table.ts');
  const { ParquetTable, rolloutColumns } = await import('../run/columns/index.ts');
  const { PageRollouts } = await import('./page/page-rollouts.ts');
  const { ViewLibrary } = await import('./library.ts');
  const { runFiles } = await import('./run-files.ts');
  const { parseQuery } = await import('./query.ts');
  const root = join(temporaryFolder(), 'runs');
  const run = RunDirectory.open((await writeRun(join(root, 'run'), { finished: false })).path);
  const files = new FileSink(run, {
    ...{ storeFeatures: false, storeTokens: true, featureBytes: 4, promptText: () => 'ask' },
  });
  files.event({ kind: 'rollouts', update: 1, records: [record] }, {});
  files.close();
  using ledger = new VerdictLedger(run.ledger('verdicts'));
  ledger.sink.append(verdict);
  const valueIn = (row: object): unknown => Object.entries(row).find(([key]) => key === name)?.[1];
  const lines = valueIn(JSON.parse(readFileSync(run.ledger('rollouts'), 'utf8')));
  const [growing] = await (await openJudged(run)).rows();
  await sealRun(run);
  const bytes = (path: string) => new Uint8Array(readFileSync(path)).buffer;
  const parquet = new ParquetTable<Record<string, unknown>>('rollouts.parquet', async () =>
    bytes(run.file('rollouts.parquet')),
  );
  let stored: unknown;
  for await (const { values } of parquet.blocks([name])) stored = values[name][0] ?? undefined;
  const [sealed] = await (await openJudged(run)).rows();
  const page = new PageRollouts({
    runs: async (id) => [id],
    files: async () => runFiles(run, (file) => run.file(file)),
    open: (file) => bytes(file.name),
  });
  const search = await new ViewLibrary(root).search(parseQuery(new URLSearchParams()));
  return {
    lines,
    growing: valueIn(growing),
    parquet: stored,
    sealed: valueIn(sealed),
    list: valueIn((await page.list('run', new URLSearchParams())).rows[0]),
    page: valueIn((await page.rollout('run', '1-0-0')).rollout),
    terminal: valueIn((await search.rows(0, 1))[0]),
    docs: columnTable(rolloutColumns)
      .split('\n')
      .find((line) => line.includes(`\`${name}\``))
      ?.split(' | ')
      .at(-1)
      ?.replace(/ *\|$/, ''),
  };
}

it('a column that is added by one line is in files, readers, viewer and docs, and gone without the line', async () => {
  addColumn();
  const { docs, ...values } = await valuesOf('loudness');
  expect(docs).toBe('how loud it is');
  expect(new Set(Object.values(values))).toEqual(new Set([3]));
  vi.doUnmock(declaration);
  vi.resetModules();
  expect(new Set(Object.values(await valuesOf('loudness')))).toEqual(new Set([undefined]));
});
