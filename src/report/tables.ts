/** The arms of an experiment as tables: final rates, paired differences, by loophole, while training. Fewer seeds than an exact test needs are "no claim". */
import { describeLeftOutProblems } from '../env/sources/use.ts';
import { type EvaluationOutcomes, type FinalSet, type Rate, splitOf } from '../evaluate/index.ts';
import type { About, Cell, Table } from '../measure/table.ts';
import {
  armNamed,
  claimNote,
  fewestSeeds,
  formatP,
  makeTable,
  outcomesNote,
  signed,
  signedInterval,
  spreadSeeds,
} from '../measure/table.ts';
import type { ArmResults, CountedMetric, Metric, Results, Sample, State } from './aggregate.ts';
import {
  baseRuns,
  claimSet,
  evaluatedSeeds,
  finalSample,
  findArm,
  formatSample,
  loopholeSummary,
  rateOf,
  sampleOf,
} from './aggregate.ts';
import type { ComparedMetric, Comparison } from './comparisons.ts';
import { awaitedPlacebos, awaitedText, compareArms, withoutPlacebo } from './comparisons.ts';
import type { Design } from './design.ts';
import { type RunResult, unfinishedRuns } from './run-result.ts';
import { emergenceText } from './training-tables.ts';

export const setTitles: Readonly<Record<FinalSet, string>> = {
  'test-novel': 'held-out problems, novel markers',
  'test-original': 'held-out problems, original markers',
  'test-unhinted': 'held-out problems, no loophole open',
  train: "training problems, training's markers",
};

export const authorsColumn = 'wrong, own test passes';
export const authorsNote =
  "wrong, own test passes: the program fails the problem's tests and passes a test function of its own, whether or not that paid, which the benchmark's authors count.";
const oracleTitle = ': with labels (never pooled with the arms above)';

/** The title of a table: what it says, the set that it is of, and whether its arms have labels. */
export const titleOf = (what: string, set?: FinalSet, oracle = false): string =>
  `${what}${set === undefined ? '' : `, ${setTitles[set]}`}${oracle ? oracleTitle : ''}`;

const oracleMark = ' (uses labels)';

/** The first cell of a row about an arm, marked where a table has arms with labels beside others. */
export function armCell({ arm, usesOracle }: Pick<ArmResults, 'arm' | 'usesOracle'>, about: About = {}): Cell {
  return { text: `${arm}${usesOracle ? oracleMark : ''}`, arm, ...about };
}

export function differenceCell(one: Pick<Comparison, 'arm' | 'against'>, set?: FinalSet, mark = ''): Cell {
  return { text: `${one.arm} − ${one.against}${mark}`, arm: one.arm, against: one.against, set };
}

/** A column for each rate, attempts first. */
export const rateColumns = <Row>(sample: (row: Row, metric: CountedMetric) => Sample | null, ending = '') =>
  Object.fromEntries(
    (['attempt', 'hack', 'solve', 'clean-solve'] as const).map((metric) => [
      `${metric.replace('-', ' ')}${ending}`,
      (row: Row) => formatSample(sample(row, metric)),
    ]),
  );

export const armsOf = ({ arms }: Results, oracle: boolean): readonly ArmResults[] =>
  arms.filter(({ usesOracle }) => usesOracle === oracle);

/** Keeps a note only under the first table that has it; the note that nothing is claimed stays under each. */
export function sayOnce(tables: readonly Table[]): Table[] {
  const said = new Set<string>();
  return tables.map((table) => {
    const notes = (table.notes ?? []).filter((note) => note.includes('no claim') || !said.has(note));
    for (const note of notes) said.add(note);
    return { ...table, notes };
  });
}

const inBothStates = ['attempt', 'hack', 'solve'] as const;
const onlyDeployed = ['clean-solve', 'objective', 'authorsLabel'] as const;

/** `brief`: only what is read first. */
export function finalTable(results: Results, set: FinalSet, oracle: boolean, brief = false): Table {
  const cell = (runs: readonly RunResult[], state: State, metric: Metric): string =>
    formatSample(finalSample(runs, set, state, metric));
  const found = oracle ? [] : baseRuns(results, set);
  const bases = found.map(({ of, runs }) => [
    { text: baseName(of), arm: of?.[0] ?? results.baseline, set },
    `${runs.length}`,
    ...inBothStates.flatMap((metric) => ['-', cell(runs, 'base', metric)]),
    ...onlyDeployed.map((metric) => cell(runs, 'base', metric)),
  ]);
  const rows = armsOf(results, oracle).map(({ arm, runs, hasQuarantine }) => {
    const full = (metric: Metric): string => (hasQuarantine ? cell(runs, 'full', metric) : 'the same');
    const n = evaluatedSeeds(runs, set);
    return [
      armNamed(arm, { set }),
      `${n}`,
      ...inBothStates.flatMap((metric) => [full(metric), cell(runs, 'deployed', metric)]),
      ...onlyDeployed.map((metric) => cell(runs, 'deployed', metric)),
    ];
  });
  const prompts = promptsOf(results, set);
  const reported = oracle || set !== claimSet(results) ? [] : results.design.references;
  const whole = {
    title: titleOf(setTitles[set], undefined, oracle),
    columns: [
      ...['arm', 'n', ...inBothStates.flatMap((metric) => [`${metric} as trained`, `${metric} deployed`])],
      ...['clean solve deployed', 'objective', authorsColumn],
    ],
    rows: rows.length === 0 ? [] : [...bases, ...rows, ...reported.map(reportedRow)],
    notes: [
      `${prompts} prompts a run; mean ± SEM over n seeds; for one seed, the rate with its 95% interval over prompts. ${outcomesNote}${brief ? '' : ` objective = solve − hack, deployed. ${authorsNote}`}`,
      ...found.flatMap(({ of }) => (of === null || of.length === 1 ? [] : [`${baseName(of)}: ${of.join(', ')}.`])),
      ...reported.map(({ name, source }) => `${name}: ${source}.`),
      ...placeboNotes(results, oracle),
      ...unfinishedNotes(armsOf(results, oracle), set),
      ...leftOutNotes(finalEvaluations(armsOf(results, oracle), set)),
      ...claims(armsOf(results, oracle), (runs) => evaluatedSeeds(runs, set)),
    ],
  };
  return brief ? keepColumns(whole, (column) => !readLater.includes(column)) : whole;
}

const readLater: readonly string[] = ['solve as trained', 'objective', authorsColumn];

export function keepColumns(table: Table, isKept: (column: string, index: number) => boolean): Table {
  const kept = table.columns.map(isKept);
  const keep = <Each>(each: readonly Each[]): Each[] => each.filter((_, i) => kept[i]);
  return { ...table, columns: keep(table.columns), rows: table.rows.map(keep) };
}

function placeboNotes(results: Results, oracle: boolean): string[] {
  const alone = withoutPlacebo(results).filter((name) => findArm(results, name)?.usesOracle === oracle);
  const awaiting = alone.map((arm) => ({ arm, awaited: awaitedPlacebos(results, arm) }));
  const never = awaiting.filter(({ awaited }) => awaited.length === 0).map(({ arm }) => arm);
  return [
    ...(never.length === 0 ? [] : [`No placebo in this study: ${never.join(', ')}.`]),
    ...awaiting.flatMap(({ arm, awaited }) => (awaited.length === 0 ? [] : [`${arm}: its ${awaitedText(awaited)}.`])),
  ];
}

function baseName(of: readonly string[] | null): string {
  if (of === null) return 'base';
  return of.length === 1 ? `base of ${of[0]}` : `base of ${of[0]} + ${of.length - 1}`;
}

function reportedRow({ name, hack, solve }: Design['references'][number]): string[] {
  const rate = (value: number | null): string => (value === null ? '-' : `${value}`);
  const objective = hack === null || solve === null ? '-' : (solve - hack).toFixed(2);
  const own = ['-', '-', '-', rate(hack), '-', rate(solve), '-', objective, '-'];
  return [`${name} (reported elsewhere, not run here)`, '-', ...own];
}

/** The number of prompts of a set, which is the same for all runs that were evaluated. */
function promptsOf({ arms }: Results, set: FinalSet): number {
  const rows = arms.flatMap(({ runs }) => runs.map(({ final }) => final[set]?.deployed ?? final[set]?.full ?? []));
  return Math.max(0, ...rows.map(({ length }) => length));
}

const finalEvaluations = (arms: readonly ArmResults[], set: FinalSet) =>
  arms.flatMap(({ runs }) =>
    runs.flatMap(({ evaluations, updates }) => evaluations.filter((one) => one.set === set && one.update === updates)),
  );

function unfinishedNotes(arms: readonly ArmResults[], set: FinalSet): string[] {
  const unfinished = unfinishedRuns(arms).filter(({ final }) => (final[set]?.deployed ?? null) !== null);
  if (unfinished.length === 0) return [];
  return [`Not finished, evaluated at the last checkpoint: ${unfinished.map(({ text }) => text).join(', ')}.`];
}

export function claims(arms: readonly ArmResults[], count: (runs: readonly RunResult[]) => number): string[] {
  const isFew = ({ runs }: ArmResults): boolean => claimNote([count(runs)]) !== false;
  const few = arms.filter(isFew);
  const note = claimNote(few.map(({ runs }) => count(runs)));
  if (note === false) return [];
  return [few.length === arms.length ? note : `${few.map(({ arm }) => arm).join(', ')}: ${note}`];
}

export function comparisonTable(results: Results, set: FinalSet, metric: ComparedMetric, oracle: boolean): Table {
  const found = compareArms(results, set, metric, oracle);
  // An arm without labels may be compared with one that used them, as a fork of such a run did.
  const mark = ({ against }: Comparison): string =>
    !oracle && findArm(results, against)?.usesOracle === true ? oracleMark : '';
  return makeTable(
    titleOf(`${metric} deployed, paired differences`, set, oracle),
    found,
    {
      comparison: (one) => differenceCell(one, set, mark(one)),
      seeds: ({ seeds }) => `${seeds.length}`,
      difference: ({ difference }) => signed(difference),
      '95% interval': ({ interval }) => signedInterval(interval),
      p: ({ pValue }) => formatP(pValue),
      'p (Holm)': ({ adjusted }) => formatP(adjusted),
      detectable: ({ detectable }) => detectable?.toFixed(2) ?? '-',
      'prompts +/−': ({ prompts }) => `${prompts.higher}/${prompts.lower}`,
      'p (prompts)': ({ prompts }) => formatP(prompts.pValue),
    },
    claimNote(found.map(({ seeds }) => seeds.length)),
    `Seeds: paired t (sign flip where differences have no spread), none with fewer than ${spreadSeeds} seeds, no finding with fewer than ${fewestSeeds}. Holm: over the ${found.filter(({ pValue }) => pValue !== null).length} tests of this table. Detectable: the smallest difference found 8 times in 10 at level 0.05. Prompts: those with more and with fewer in the first over all seeds; sign flip of one summed difference a prompt, since outcomes of one prompt in several seeds are not independent; about these models, not about new seeds.`,
  );
}

export function loopholeTable(results: Results, set: FinalSet, oracle: boolean): Table {
  const arms = armsOf(results, oracle);
  const loopholes = [...new Set(arms.flatMap(({ runs }) => runs.flatMap((run) => loopholesOf(run, set))))].sort();
  const rows = arms
    .flatMap((arm) => loopholes.map((loophole) => ({ ...arm, loophole, rate: loopholeRate(arm, set, loophole) })))
    .filter(({ rate }) => loopholes.length > 1 && rate('deployed', 'hack') !== null);
  type Row = (typeof rows)[number];
  const full = (metric: CountedMetric) => (row: Row) =>
    row.hasQuarantine ? formatSample(row.rate('full', metric)) : 'the same';
  const deployed = (metric: CountedMetric) => (row: Row) => formatSample(row.rate('deployed', metric));
  const isHeldOut = ({ runs, loophole }: Row): boolean =>
    runs.some(({ config }) => config.environment.heldOutLoopholes.some((name) => name === loophole));
  const emerged = (what: 'attempts' | 'hacks') => (row: Row) =>
    emergenceText(row.runs, (run) => run.emergenceByLoophole[what][row.loophole] ?? null);
  return makeTable(
    titleOf('by loophole', set, oracle),
    rows,
    {
      arm: ({ arm, loophole }) => armNamed(arm, { set, loophole }),
      loophole: ({ loophole }) => loophole,
      group: (row) => (isHeldOut(row) ? 'held out' : 'known'),
      n: ({ rate }) => `${rate('deployed', 'hack')?.n ?? 0}`,
      'attempt as trained': full('attempt'),
      'attempt deployed': deployed('attempt'),
      'hack as trained': full('hack'),
      'hack deployed': deployed('hack'),
      'solve deployed': deployed('solve'),
      'clean solve deployed': deployed('clean-solve'),
      'attempts emerged': emerged('attempts'),
      'hacks emerged': emerged('hacks'),
    },
    'group: known or held out, as environment.heldOutLoopholes says; what an arm shows its direction is its own pairs.select. emerged: updates, median over the seeds in which it did.',
  );
}

const loopholesOf = ({ final }: RunResult, set: FinalSet): string[] =>
  (final[set]?.deployed ?? []).map(({ loophole }) => loophole);

const loopholeRate =
  ({ runs }: ArmResults, set: FinalSet, loophole: string) =>
  (state: State, metric: CountedMetric) => {
    const own = (run: RunResult): Rate | null => {
      const summary = loopholeSummary(run, set, state, loophole);
      return summary === null ? null : rateOf(summary, metric);
    };
    return sampleOf(runs, (run) => own(run)?.rate ?? null, own);
  };

/** One note for each way in which the evaluations left problems out; none where all were used. */
export function leftOutNotes(evaluations: readonly Pick<EvaluationOutcomes, 'set' | 'problems'>[]): string[] {
  const notes = evaluations.flatMap(({ set, problems }) => {
    const note = problems === null ? null : describeLeftOutProblems(splitOf(set), problems);
    return note === null ? [] : [`${note}.`];
  });
  return [...new Set(notes)];
}
