/** `gq runs [DIR]`: how each run of a folder is doing, its files checked; `gq diff A B`: how two runs differ. */
import { dirname, join } from 'node:path';
import { groupBy, shellLine, UserError, visibleLine, wrapText } from '../../base/index.ts';
import type { ComparedEvaluation } from '../../evaluate/index.ts';
import { compareRuns, findDamage } from '../../evaluate/index.ts';
import { claimFirst } from '../../report/aggregate.ts';
import { stateName } from '../../report/evaluation-tables.ts';
import { configDifferences, RunDirectory } from '../../run/index.ts';
import { storedPlan } from '../../study/directory.ts';
import type { Catalogue, ListedRun, ShownRates } from '../../view/api.ts';
import {
  evaluatedSet,
  type FoundEntry,
  finalRates,
  findEntries,
  listCatalogue,
  listRun,
} from '../../view/catalogue.ts';
import { command, flag, type Part, word } from '../command.ts';
import { Progress } from '../terminal/progress.ts';
import { alignRows, Screen } from '../terminal/screen.ts';
import { formatDuration } from '../terminal/step-table.ts';

export const runsCommand = command({
  arguments: { dir: word('[dir]', 'a folder of runs, an experiment, or a run', 'runs') },
  options: {
    quick: flag('do not read the files of the runs: no seal and no checksum is looked at'),
  },
  json: 'the list as JSON',
  examples: ['gq runs', 'gq runs runs/micro-claim --json', 'gq runs --quick'],
  exits: { 1: 'a run is damaged' },
  run({ dir, quick }, { stdout, stderr }) {
    const entries = findEntries(dir);
    const show = Progress.passing(stderr, 'runs checked', entries.length);
    let checked = 0;
    const known = new Map<string, ShownRates | null>();
    const check = (found: FoundEntry): ListedRun => {
      const { shared: path = found.path, ...own } = found;
      const entry = { ...own, path };
      // The files of a run of another folder are checked where they lie.
      const listed = quick || found.shared !== undefined ? listRun(entry) : checkedRun(entry);
      const run = found.shared === undefined ? listed : { ...listed, notice: `begun in ${dirname(path)}` };
      known.set(run.id, ratesOf(run, quick ? null : path));
      if (!quick) show(++checked);
      return run;
    };
    const listed = listCatalogue(dir, entries, check);
    show(entries.length);
    const runs = listed.runs.map(({ rates: _, ...run }) => ({ ...run, ...(known.get(run.id) ?? noRates) }));
    const text = (width: number): string => renderRuns(listed.experiments, runs, width, Screen.of(stdout).lineWidth);
    return { value: { ...listed, runs }, text, isNo: runs.some(({ status }) => status === 'damaged') };
  },
});

type RatedRun = Omit<ListedRun, 'rates'> & ShownRates;

const noRates: ShownRates = { attempt: null, hack: null, solve: null, cleanSolve: null };

/** Of a run of an experiment the evaluations are looked at here; what is listed has all others. */
function ratesOf({ rates, status, hasQuarantine }: ListedRun, path: string | null): ShownRates | null {
  if (rates !== null || path === null || status === 'damaged' || status === 'not started') return rates;
  return finalRates(path, hasQuarantine);
}

/** A run with a file that is not as it was written is damaged, whatever its other files say. */
function checkedRun(entry: FoundEntry): ListedRun {
  const run = listRun(entry);
  if (run.status === 'damaged' || run.status === 'not started') return run;
  const [first, ...others] = findDamage(RunDirectory.open(entry.path));
  if (first === undefined) return run;
  const more = others.length === 0 ? '' : ` Also damaged: ${others.map(({ file }) => file).join(', ')}.`;
  return { ...run, status: 'damaged', notice: `${first.problem}${more}` };
}

function renderRuns(
  experiments: Catalogue['experiments'],
  runs: readonly RatedRun[],
  width: number,
  lineWidth: number,
): string {
  if (runs.length === 0) return 'no runs here\n';
  const head = ['run', 'arm', 'status', 'update', 'attempt', 'hack', 'clean', 'last write'];
  // In a pipe each run has one line, for programs that look for its name.
  const lines = alignRows([head, ...runs.map(rowOf)], lineWidth);
  const table = runs.flatMap((run, i) => {
    const experiment = experiments.find(({ id }) => id === run.experiment);
    const isFirst = experiment !== undefined && runs[i - 1]?.experiment !== run.experiment;
    return [...(isFirst ? wrapText(headingOf(experiment, runs), width).split('\n') : []), lines[i + 1]];
  });
  const told = groupBy(
    runs.filter(({ notice }) => notice !== ''),
    ({ notice }) => notice,
  );
  const notices = [...told].flatMap(([notice, saying]) =>
    wrapText(visibleLine(`${saying.map(({ id }) => id).join(', ')}: ${notice}`), width).split('\n'),
  );
  const note = `attempt, hack and clean (solved without an attempt): deployed, at the last point of the curve; without a curve (gq eval RUN --curve), on ${evaluatedSet}`;
  return `${[lines[0], ...table, ...notices, ...wrapText(note, width).split('\n')].join('\n')}\n`;
}

function headingOf({ id, why }: Catalogue['experiments'][number], runs: readonly RatedRun[]): string {
  const own = runs.filter(({ experiment }) => experiment === id);
  const over = own.filter(({ status }) => status === 'finished').length;
  return visibleLine(`${id}: ${over} of ${own.length} runs finished${why === '' ? '' : `. ${why}`}`);
}

/** A file that was written later than it is now tells of a clock that went back, or of another machine's. */
const sinceText = (seconds: number): string =>
  seconds < -1 ? 'ahead of this clock' : `${formatDuration(seconds)} ago`;

/** A run of an experiment stands below its heading, so its own name is enough. */
function rowOf(run: RatedRun): string[] {
  const since = run.heartbeat === null ? '-' : sinceText((Date.now() - run.heartbeat) / 1000);
  const name = run.experiment === null ? run.id : `  ${run.id.slice(run.experiment.length + 1)}`;
  const rates = [run.attempt, run.hack, run.cleanSolve].map((rate) => rate?.toFixed(2) ?? '-');
  return [
    name,
    run.arm,
    run.failure === undefined ? run.status : 'failed',
    `${run.update}/${run.updates}`,
    ...rates,
    since,
  ];
}

export const diffCommand = command({
  arguments: { runs: { takes: '<run...>', about: 'two run directories' } as Part<readonly string[]> },
  json: 'the differences as JSON',
  examples: ['gq diff runs/micro-claim/vanilla-1 runs/micro-claim/activation-1'],
  run({ runs }) {
    expectTwoRuns(runs);
    const [first, second] = runs;
    const [a, b] = runs.map((path) => RunDirectory.open(path));
    const keys = configDifferences(a.readManifest().config, b.readManifest().config);
    const results = compareRuns(a, b);
    const value = { first, second, keys, results };
    return { value, text: (width) => renderDiff(value, width) };
  },
});

/** Where an experiment is named, as by `gq diff EXPERIMENT vanilla activation`, the two runs that are meant are told: of the arms, else its first. */
function expectTwoRuns(words: readonly string[]): void {
  const experiment = words.find((word) => storedPlan(word) !== null);
  if (experiment === undefined && words.length === 2) return;
  const others = words.filter((word) => word !== experiment);
  const runs = experiment === undefined ? [] : (storedPlan(experiment)?.runs ?? []);
  const named = others.flatMap((word) => runs.find(({ arm, folder }) => word === arm || word === folder) ?? []);
  const two = [...named, ...runs.filter((run) => !named.includes(run))].slice(0, 2);
  const arms = others.length === 0 ? '' : ` and ${others.join(', ')}`;
  throw new UserError({
    call: shellLine('gq', 'diff', ...words),
    expected: 'two run folders',
    found: experiment === undefined ? `${words.length}` : `an experiment${arms}`,
    ...(two.length < 2
      ? {}
      : { fix: `Write: ${shellLine('gq', 'diff', ...two.map(({ folder }) => join(`${experiment}`, folder)))}` }),
  });
}

type Difference = Readonly<Record<'first' | 'second', string>> & {
  readonly keys: readonly string[];
  readonly results: readonly ComparedEvaluation[];
};

/** Keys that one of two arms does not have are no differences between them: their names are enough. */
function keyLines(keys: readonly string[], width: number): string[] {
  const ofOne = { first: / \(.* and absent\)$/s, second: / \(absent and .*\)$/s } as const;
  const both = keys.filter((key) => Object.values(ofOne).every((absent) => !absent.test(key)));
  const alone = Object.entries(ofOne).flatMap(([which, absent]) => {
    const names = keys.filter((key) => absent.test(key)).map((key) => key.replace(absent, ''));
    return names.length === 0 ? [] : [`of the ${which} alone: ${names.join(', ')}`];
  });
  const wrapped = alone.map((line) => wrapText(line, width - 4).replaceAll('\n', '\n    '));
  return [...both, ...wrapped].map((line) => `  ${line}`);
}

/** Of the rates of a state: a line of its own for each state leaves room for both rates in a window of 80 columns. */
const margin = '  ';
const indented = (rows: string): string => rows.replaceAll(/^/gm, margin);

function renderDiff({ first, second, keys, results }: Difference, width: number): string {
  const differing = keys.length === 0 ? ['The configs are the same.'] : keyLines(keys, width);
  // A set that was evaluated twice, on few prompts and on more, is two tables.
  const titleOf = ({ set, prompts }: ComparedEvaluation): string => `${set}, ${prompts} prompts`;
  const titles = [...new Set(claimFirst(results, ({ set }) => set).map(titleOf))];
  const tables = titles.flatMap((title) => {
    const own = results.filter((one) => titleOf(one) === title);
    const rows = own.flatMap(({ attempt, hack, solve, cleanSolve, inOne }) => [
      ['attempt', ...attempt, inOne?.attempts.join(' and ') ?? '-'],
      ['hack', ...hack, inOne?.hacks.join(' and ') ?? '-'],
      ['solve', ...solve, ''],
      ['clean solve', ...cleanSolve, ''],
    ]);
    const [head, ...lines] = alignRows([['', 'first', 'second', 'in one'], ...rows], width - margin.length);
    const each = lines.length / Math.max(1, own.length);
    const blocks = own.flatMap(({ state }, i) => [
      stateName(state, true),
      ...lines.slice(i * each, (i + 1) * each).map(indented),
    ]);
    return ['', title, indented(head), ...blocks];
  });
  const words = [
    '',
    'deployed: without the quarantine, where there is one.',
    'in one: prompts with it in the first only, and in the second only.',
  ];
  const table = titles.length === 0 ? ['', 'No evaluation that both have.'] : [...tables, ...words];
  return `${[`first: ${first}`, `second: ${second}`, ...differing, ...table].join('\n')}\n`;
}
