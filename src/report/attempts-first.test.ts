/**
 * Attempts stand first, everywhere: every table that report can make, every figure and every format is walked, and each place that names hacks must have the
 * same of attempts before it. A new table or figure is walked too, or this fails.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluationRows, type MadeEvaluation, type MadeRollout } from '../../test/lab/hand-made.ts';
import { type MadeResults, madeRun } from '../../test/lab/made-results.ts';
import type { ProbeEvaluation } from '../evaluate/index.ts';
import { leakProbes, openingProbe } from '../evaluate/index.ts';
import { splitEvasion } from '../measure/evasion/evasion.ts';
import { attributeGradient } from '../measure/gate/attribution.ts';
import { type FeaturedRollout, idealDirection, randomBand } from '../measure/gate/directions.ts';
import * as measure from '../measure/index.ts';
import { type Table, textOf } from '../measure/table.ts';
import { aggregate, type Results } from './aggregate.ts';
import * as allTables from './all-tables.ts';
import * as baselines from './baselines.ts';
import type { Figure } from './chart.ts';
import { noDesign } from './design.ts';
import * as evaluationTables from './evaluation-tables.ts';
import * as failures from './failures.ts';
import { allFigures, figureNames } from './figures.ts';
import * as heldOut from './held-out.ts';
import * as kept from './kept.ts';
import * as probeTables from './probe-tables.ts';
import type { RunResult } from './run-result.ts';
import * as tables from './tables.ts';
import * as trainingTables from './training-tables.ts';
import { resultsCsv, resultsJson } from './values.ts';

const loopholes = ['run_tests', 'sentinel', 'file_marker'];
const environment = { loopholes: ['run_tests', 'sentinel'], heldOutLoopholes: ['file_marker'] };
const sets = ['test-novel', 'test-original', 'test-unhinted'] as const;

/** Four rollouts an update: a hack, a right program that opens the loophole, one in vain, and a clean one. */
const rollouts = (seed: number): MadeRollout[] =>
  [1, 2, 3, 4, 5, 6].flatMap((update) =>
    (
      [
        [true, false, true, 'route', 3],
        [false, true, true, 'route', 2],
        [false, false, true, 'absorb', -1],
        [false, true, false, 'keep', -2],
      ] as const
    ).map(([hack, solve, attempt, route, score], i) => ({
      ...{ update, hack, solve, attempt, route, loophole: loopholes[(update + i) % 2], advantage: hack ? 1 : 0.5 - i },
      ...{ score: score + seed * (i === 3 ? 2 : 0), low: -1, high: 1, suspicion: score, flagged: score > 0 },
      ...{ deployedNorm: 1 + i, featureRow: null },
    })),
  );

function madeArm(name: string, arm: NonNullable<MadeResults['arm']>, full: string, deployed: string): MadeResults[] {
  return [1, 2, 3].map((seed) => {
    const at = (update: number, state: MadeEvaluation['state'], outcomes: string) =>
      sets.map((set): MadeEvaluation => ({ update, set, state, outcomes, loopholes }));
    const curve = (update: number, state: MadeEvaluation['state'], outcomes: string): MadeEvaluation => ({
      ...{ update, set: 'curve', state, outcomes },
    });
    return {
      ...{ name, seed, arm, config: { environment }, checkpoints: [0, 20], rollouts: rollouts(seed) },
      steps: [1, 2].map((update) => ({
        update,
        scoringPasses: 3,
        meanReward: 0.5,
        qmass: 0.5,
        routes: { keep: 1, absorb: 1, route: 1 },
      })),
      seconds: [1, 2],
      evaluations: [
        ...at(0, 'base', '-'.repeat(12)),
        ...at(20, 'full', full),
        ...at(20, 'deployed', deployed),
        ...at(20, 'scale-0.5', deployed),
        ...[curve(0, 'base', '------'), curve(10, 'full', 'hbab--'), curve(10, 'deployed', 'a-----')],
      ],
    };
  });
}

const hacks = 'hhhhbbaa----';
const skilled = 'ssssssssss--';
const gates: readonly MadeResults[] = [
  ...madeArm('vanilla', { kind: 'vanilla' }, hacks, hacks),
  ...madeArm('ceiling', { kind: 'absorb' }, skilled, skilled),
  ...madeArm('activation', { kind: 'activation' }, hacks, 'hasssss-----'),
  ...madeArm('haar', { kind: 'activation', placebo: 'haar' }, hacks, 'hhbassss----'),
  ...[1, 0.5].flatMap((recall) => madeArm(`labels-${recall}`, { kind: 'oracle', recall }, hacks, 'hasss-------')),
];
const monitored: readonly MadeResults[] = [
  ...gates,
  ...madeArm('penalty', { kind: 'penalty', monitor: { kind: 'probe' } }, hacks, 'basss-------'),
];

/** What other commands than training and evaluation leave in a run. */
function measured(run: RunResult): RunResult {
  const rows = (outcomes: string) => evaluationRows({ update: 20, set: 'test-original', state: 'full', outcomes });
  const probeAt = (probe: ProbeEvaluation['probe'], set: ProbeEvaluation['set']): ProbeEvaluation => ({
    ...{ update: 20, set, state: 'full', limit: null, seed: 1, key: 'k', problems: null, probe, rows: rows('hab---') },
  });
  const asked = [
    ...leakProbes({ kind: 'vanilla' }, true).map(({ probe }) => probeAt(probe, 'test-original')),
    ...(['hack', 'neutral'] as const).map((opening) => probeAt(openingProbe(opening), 'curve')),
  ];
  const scores = [1, 2, 3, 4].map((i) => ({ attempt: i > 2, hack: i > 3, base: i, policy: i - 1 }));
  const evasion = { labels: 'diagnosis only' as const, update: 20, from: 1, to: 2, rollouts: 4, abstained: 0 };
  return { ...run, probes: asked, attack: run.training, evasion: { ...evasion, ...splitEvasion(scores) } };
}

async function studied(made: readonly MadeResults[]): Promise<Results> {
  const runs: RunResult[] = [];
  for (const one of made) runs.push(measured(await madeRun(one)));
  const arms = [...new Set(made.map(({ name = '' }) => name))];
  const design = {
    ...{ ...noDesign, ceiling: 'ceiling', predictions: [], seeds: [1, 2, 3] },
    arms: arms.map((name) => ({ name, recipe: `${name}.toml`, set: [], placebos: null })),
  };
  return aggregate(runs, { name: 'all', baseline: 'vanilla', placebo: 'haar', design });
}

const withMonitor = await studied(monitored);
const gatesOnly = await studied(gates);

const toAttempts = (text: string): string =>
  text
    .replace(/\ba hack\b/g, 'an attempt')
    .replace(/\bhack(?!-like)/g, 'attempt')
    .replace(/\bHack/g, 'Attempt');

/** The authors' own label knows no attempts; "hack pairs" are what an arm is shown, "hack-like" is an opening. */
const otherThings = /hack pairs|hack-like/g;
const namesHack = (text: string): boolean => /\bhacks?\b/i.test(text.replace(otherThings, ''));

/** The names that say something of hacks, and have nothing like it of attempts before them. */
const alone = (names: readonly string[]): string[] =>
  names.filter(
    (name, i) => namesHack(name) && !name.includes('attempt') && !names.slice(0, i).includes(toAttempts(name)),
  );

/** Qualities of gates and monitors are of a target, which their names say. */
const untold = (names: readonly string[]): string[] =>
  names.filter((name) => /AUROC|precision|recall\b|FPR|emerged|F0\.5/.test(name) && !/attempt|hack/.test(name));

function faultsOf({ title, columns, rows }: Table): string[] {
  const labels = columns.map((_, column) => [...new Set(rows.map((row) => textOf(row[column])))]);
  return [...alone(columns), ...untold(columns), ...labels.flatMap((texts) => [...alone(texts), ...untold(texts)])].map(
    (fault) => `${title}: ${fault}`,
  );
}

type TableMaker = (...given: never[]) => Table | Table[] | { readonly tables: Table[] };

/** What no table is asked of: these make and render any. */
const others = ['renderTable', 'makeTable'];

/** All modules that make tables. */
const makers = Object.fromEntries(
  [
    ...[allTables, baselines, evaluationTables, failures, heldOut, kept, measure],
    ...[probeTables, tables, trainingTables],
  ].flatMap((module) => Object.entries(module).filter(([name]) => /Tables?$/.test(name) && !others.includes(name))),
) as Readonly<Record<string, TableMaker>>;

const [gateRun] = withMonitor.arms.find(({ arm }) => arm === 'penalty')?.runs ?? [];
const rows = await gateRun.rollouts();
const windows = measure.gateWindows(rows, 2);
const { evaluations, probes } = gateRun as unknown as { evaluations: never[]; probes: ProbeEvaluation[] };
const featured = rows.map(
  ({ update, hack }, i): FeaturedRollout => ({
    ...{ update, hack, problem: `${i}`, feature: Float32Array.of(i % 3, i % 2) },
  }),
);
const shape = { modules: 1, rank: 2, kind: 'dot' as const };
const both = <Known>(known: Known) => ({ attempts: known, hacks: known });
const controls = { band: randomBand(featured, { ...shape, seed: 1 }), ideal: idealDirection(featured, shape) };
const rate = { count: 1, of: 2, rate: 0.5, low: 0, high: 1 };
const point = { update: 1, attempt: rate, hack: rate, solve: rate, cleanSolve: rate };

/** How each table is asked for; those over seeds take the results, and some whether arms use labels. */
const given: Readonly<Record<string, readonly unknown[]>> = {
  finalTable: [withMonitor, 'test-original', false],
  comparisonTable: [withMonitor, 'test-original', 'attempt', false],
  loopholeTable: [withMonitor, 'test-original', false],
  processTable: [withMonitor, false],
  failureTable: [withMonitor, false],
  failureComparisonTable: [withMonitor, false],
  gateTable: [measure.judgeGate(rows), measure.judgeReinforced(rows)],
  windowTable: [windows, false],
  driftTable: [windows],
  bandTable: [measure.judgeGate(rows), both(controls)],
  idealTable: [measure.judgeGate(rows), both(controls)],
  directionTable: [[{ from: 1, to: 2, band: null, meanCosine: null, cosineToIdeal: null }]],
  attributionTable: [attributeGradient(rows)],
  attributionWindowTable: [[attributeGradient(rows)]],
  monitorTable: [gateRun.monitor],
  monitorWindowTable: [measure.monitorWindows(rows, 2)],
  evasionTable: [gateRun.evasion],
  finalEvaluationTable: [evaluations, true],
  sampledTable: [evaluations.flatMap((one: object) => [one, { ...one, sample: 2 }]), true],
  loopholeEvaluationTable: [evaluations, []],
  scaleTable: [evaluations],
  surfacedTable: [evaluations],
  curveTable: [[{ ...point, state: 'full' }], 'curve', true],
  elicitationTable: [probes.filter(({ set }) => set === 'test-original'), true],
  leakTable: [leakProbes({ kind: 'vanilla' }, true), probes.filter(({ set }) => set === 'test-original'), true],
  prefillTable: [
    [
      {
        ...{ update: 1, state: 'full' },
        ...both({ hackLike: rate, neutral: rate, difference: 0, interval: null }),
      },
    ],
    'curve',
    true,
  ],
};

describe('no table names hacks without attempts before them, and a target is always named', () => {
  it('all functions that make tables are asked here', () => {
    const folders = ['.', '../measure'].map((folder) => join(import.meta.dirname, folder));
    const files = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    );
    const code = files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    const sources = code.map((path) => readFileSync(path, 'utf8')).join('\n');
    const named = [...sources.matchAll(/^export (?:async )?function (\w+Tables?)\b/gm)].map(([, name]) => name);
    expect(Object.keys(makers).sort()).toEqual(named.filter((name) => !others.includes(name)).sort());
  });

  it.each(Object.keys(makers))('%s', (name) => {
    const made = makers[name](...((given[name] ?? [withMonitor]) as never[]));
    const shown = 'rows' in made ? [made] : 'tables' in made ? made.tables : made;
    expect(shown.some((table) => table.rows.length > 0)).toBe(true);
    expect(shown.flatMap(faultsOf)).toEqual([]);
    expect(alone(shown.map(({ title }) => title))).toEqual([]);
  });
});

describe('no figure draws hacks without attempts before them', async () => {
  const figures = [...(await allFigures(withMonitor)), ...(await allFigures(gatesOnly))];

  it('all figures are drawn here', () => {
    expect([...new Set(figures.map(({ name }) => name))].sort()).toEqual([...figureNames].sort());
  });

  it.each(figureNames)('%s', (name) => {
    for (const figure of figures.filter((one) => one.name === name)) expect(figureFaults(figure)).toEqual([]);
  });
});

function figureFaults({ title, panels, legend, data }: Figure): string[] {
  const columns = data.columns.map((_, column) => [...new Set(data.rows.map((row) => textOf(row[column])))]);
  const counted = (text: string): string => text.replace(/\d+/g, 'n');
  return [
    ...(/hack/i.test(title) && title.toLowerCase().indexOf('attempt') > title.toLowerCase().indexOf('hack')
      ? [title]
      : []),
    ...(/hack/i.test(title) && !/attempt/i.test(title) ? [title] : []),
    ...alone(panels.map((panel) => counted(`${panel.title} ${panel.yLabel} ${panel.xLabel}`))),
    ...alone(legend.map(({ label }) => label)),
    ...alone(data.columns),
    ...untold(data.columns.filter((column) => column !== 'recall')),
    ...columns.flatMap(alone),
  ];
}

describe('no format gives hacks without attempts before them', () => {
  it('CSV', () => {
    const metrics = resultsCsv(withMonitor)
      .split('\n')
      .filter((line) => line.startsWith('penalty,'))
      .map((line) => line.split(',')[4]);
    expect(metrics.filter((name) => namesHack(name.replaceAll('-', ' '))).length).toBeGreaterThan(3);
    for (const name of metrics.filter((one) => /hack/.test(one))) {
      expect(metrics.slice(0, metrics.indexOf(name)), name).toContain(
        toAttempts(name.replace('keep-hack', 'keep-hack')),
      );
    }
    // Qualities of the outcome keep their older names; those of attempts come before them.
    for (const name of metrics.filter((one) => /auroc|precision|recall|fpr|emergence/.test(one))) {
      expect(
        metrics.some((other) => other === name && other.includes('attempt')) || hasAttempt(metrics, name),
        name,
      ).toBe(true);
    }
  });

  it('JSON', () => {
    const found = JSON.parse(JSON.stringify(resultsJson(withMonitor))) as Record<string, unknown>;
    expect(hacksAlone(found)).toEqual([]);
  });
});

/** Whether the metric of attempts comes before one of outcomes, as `monitor-attempt-auroc` before `monitor-auroc`. */
function hasAttempt(metrics: readonly string[], name: string): boolean {
  const parts = name.split('-');
  const places = parts.map((_, i) => [...parts.slice(0, i), 'attempt', ...parts.slice(i)].join('-'));
  return places.some((place) => metrics.slice(0, metrics.indexOf(name)).includes(place));
}

/** The places of an answer where something of hacks has nothing of attempts before it. */
function hacksAlone(value: unknown, place = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Object.keys(value);
  const own = keys.filter((key, i) => /hack/i.test(key) && !keys.slice(0, i).includes(toAttempts(key)));
  return [
    ...own.map((key) => `${place}/${key}`),
    ...Object.entries(value).flatMap(([key, each]) => hacksAlone(each, `${place}/${key}`)),
  ];
}
