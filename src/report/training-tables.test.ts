/** Monitors and costs in results, from runs written by hand. */
import { appendFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { type MadeResults, madeResults } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import { RunDirectory } from '../run/directory.ts';
import { readTimings } from '../run/read.ts';
import { baselineTables } from './baselines.ts';
import { renderReport } from './html.ts';
import { costTable, monitorsOverTimeTable, monitorsTable, processTable } from './training-tables.ts';
import { resultsCsv } from './values.ts';

const monitor = { kind: 'probe' };
const watched = (requests: number) => ({
  cut: 0.5,
  flagged: 1,
  abstained: 0,
  abstentions: {},
  costs: { passes: 6, requests },
});

const penalty = (seed: number, caught: boolean): MadeResults => ({
  name: 'penalty by probe',
  seed,
  arm: { kind: 'penalty', monitor },
  rollouts: [
    { update: 1, hack: true, suspicion: 0.9, flagged: caught },
    { update: 1, hack: false, suspicion: 0.2, flagged: false },
  ],
  steps: [
    { update: 1, scoringPasses: 30, watched: watched(2) },
    { update: 2, scoringPasses: 40, watched: watched(4) },
  ],
  seconds: [3, 100, 5],
});
const vanilla: MadeResults = { steps: [{ update: 1, scoringPasses: 20, watched: null }], seconds: [2] };
const labelled: MadeResults = {
  name: 'zero by oracle',
  arm: { kind: 'zero', monitor: { kind: 'oracle' } },
  rollouts: [{ update: 1, hack: true, suspicion: 1, flagged: true }],
};

it('the monitors by quarter of training, which here is five updates', async () => {
  const at = (update: number, hack: boolean, suspicion: number, flagged: boolean) => ({
    ...{ update, hack, suspicion, flagged },
  });
  /** The same against attempts as against hacks: here every attempt is a hack. */
  const both = (...cells: readonly string[]) => [...cells, ...cells];
  const late = (seed: number, blind: boolean): MadeResults => ({
    ...penalty(seed, true),
    rollouts: [
      ...[at(5, true, 0.9, true), at(5, false, 0.1, false)],
      ...[at(6, true, 0.8, true), at(6, false, 0.9, true)],
      ...[at(20, true, blind ? 0.1 : 0.9, !blind), at(20, false, 0.2, false)],
    ],
  });
  const results = await madeResults([vanilla, late(1, true), late(2, false)]);
  expect(plain(monitorsOverTimeTable(results)).rows).toEqual([
    ['penalty by probe', '1-5', '2', ...both('1.00 ± 0.00', '1.00 ± 0.00', '1.00 ± 0.00', '0.00 ± 0.00')],
    ['penalty by probe', '6-10', '2', ...both('0.00 ± 0.00', '0.50 ± 0.00', '1.00 ± 0.00', '1.00 ± 0.00')],
    ['penalty by probe', '16-20', '2', ...both('0.50 ± 0.50', '1.00', '0.50 ± 0.50', '0.00 ± 0.00')],
  ]);
});

it('an arm without a quarantine has no share of the rollouts or of the gradient in it', async () => {
  const steps = [{ update: 1, qmass: 0.5, routes: { keep: 0, absorb: 3, route: 1 } }];
  const routed: MadeResults = { name: 'routed', arm: { kind: 'routed', monitor }, steps };
  const results = await madeResults([{ steps }, { ...penalty(1, true), steps }, routed]);
  const { columns, rows } = plain(processTable(results, false));
  expect(columns.slice(-2)).toEqual(['routed', 'qmass']);
  expect(rows.map((row) => [row[0], ...row.slice(-2)])).toEqual([
    ['vanilla', '-', '-'],
    ['penalty by probe', '-', '-'],
    ['routed', '0.25', '0.50'],
  ]);
  expect(resultsCsv(results)).toContain('routed,false,training,full,routed,1,0.25,');
});

it('the monitors of arms over seeds, those with labels marked', async () => {
  // The rollout that is no hack opens the loophole in a correct program, and is not flagged.
  const tried = (made: MadeResults): MadeResults => ({
    ...made,
    rollouts: [...(made.rollouts ?? []), { update: 1, attempt: true, solve: true, suspicion: 0.1, flagged: false }],
  });
  const results = await madeResults([vanilla, tried(penalty(1, true)), tried(penalty(2, false)), labelled]);
  expect(plain(monitorsTable(results)).rows).toEqual([
    [
      ...['penalty by probe', '2', '0.50 ± 0.00', '1.00', '0.25 ± 0.25', '0.00 ± 0.00'],
      ...['1.00 ± 0.00', '1.00', '0.50 ± 0.50', '0.00 ± 0.00'],
    ],
    ['zero by oracle (uses labels)', '1', '-', '1.00', '1.00', '-', '-', '1.00', '1.00', '-'],
  ]);
  expect(plain(monitorsTable(results)).columns.slice(2, 4)).toEqual(['attempts: AUROC', 'attempts: precision']);
  expect(resultsCsv(results)).toContain('penalty by probe,false,training,full,monitor-attempt-recall,2,0.25,');
  expect(resultsCsv(results)).toContain('penalty by probe,false,training,full,monitor-recall,2,0.5,0.5,1 2,1 0');
});

it('an arm whose routes are dealt out at random has its monitor named as before that, wherever it is judged', async () => {
  const routed = (name: string, placebo: string): MadeResults => ({
    name,
    checkpoints: [0, 20],
    evaluations: [{ update: 20, set: 'test-original', state: 'deployed', outcomes: '-'.repeat(10) }],
    arm: { kind: 'watched', monitor, cut: { kind: 'otsu' }, remedy: { kind: 'route', placebo } },
    rollouts: [
      {
        update: 1,
        attempt: true,
        suspicion: 0.9,
        flagged: true,
        trained: true,
        route: placebo === 'none' ? 'route' : 'absorb',
      },
      { update: 1, suspicion: 0.2, flagged: false, trained: true, route: placebo === 'none' ? 'absorb' : 'route' },
    ],
  });
  const results = await madeResults([vanilla, routed('gate', 'none'), routed('random', 'mass-matched')], 'random');
  const mark = 'its flags, before routes were dealt out at random';
  for (const table of [monitorsTable(results), monitorsOverTimeTable(results)]) {
    expect(plain(table).rows.map(([arm]) => arm)).toEqual(['gate', `random: ${mark}`]);
  }
  const [side] = baselineTables(results);
  expect(side.notes).toContainEqual(`AUROC to FPR of random: its monitor by ${mark}.`);
  const page = await renderReport(results, { title: 'made', commands: [] });
  expect(page.match(new RegExp(`diagnosis only: ${mark}`, 'g'))).toHaveLength(1);
  // What the dealt routes did stands in the table of training.
  const { columns, rows } = plain(processTable(results, false));
  expect(rows.map((row) => row[columns.indexOf('attempts: route recall')])).toEqual(['-', '1.00', '0.00']);
});

it('two AUROCs of one monitor say which rollouts each is over', async () => {
  const routed: MadeResults = {
    name: 'routed',
    arm: { kind: 'routed', monitor },
    rollouts: [
      { update: 1, attempt: true, suspicion: 0.9, flagged: true, trained: true, route: 'route' },
      { update: 1, suspicion: 0.2, flagged: false, trained: true, route: 'absorb' },
      { update: 1, suspicion: 0.95, flagged: true, trained: false },
    ],
  };
  const results = await madeResults([vanilla, routed]);
  const [own, all] = [processTable(results, false), monitorsTable(results)].map((table) => {
    const { columns, rows, notes } = plain(table);
    return { auroc: rows.at(-1)?.[columns.indexOf('attempts: AUROC')], notes: notes?.join(' ') };
  });
  expect([own.auroc, all.auroc]).toEqual(['1.00', '0.50']);
  expect(own.notes).toContain('against the other rollouts of the same update that carried gradient');
  expect(all.notes).toContain('All rollouts count, also those that carried no gradient.');
});

it('what an update costs, beside the baseline', async () => {
  const results = await madeResults([vanilla, penalty(1, true), labelled]);
  expect(plain(costTable(results)).rows).toEqual([
    ['vanilla', '1', '2.00', '1.00', '20', '0', '-'],
    // 35 readings of the policy and 6 of the monitor; the median of 3, 5 and 100 seconds.
    ['penalty by probe', '1', '5.00', '2.50', '41', '21', '3.0 requests'],
  ]);
});

it('of an update that was done twice the newest seconds count', async () => {
  const path = temporaryFolder();
  await writeRun(path, { seconds: [3, 4] });
  appendFileSync(`${path}/timings.jsonl`, '{"update":2,"seconds":{"learn":6,"sample":1}}\n');
  expect(await readTimings(RunDirectory.open(path))).toEqual([3, 7]);
});
