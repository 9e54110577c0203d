/**
 * Runs that fail: those whose deployed policy attempts in more prompts of the claim's set than the experiment allows. A run hacks or it
 * does not, so the share of runs that fail, with its exact interval, says more than a mean over seeds. Arms are compared by McNemar's
 * exact test over the seeds in which one of the two fails and the other does not.
 *
 * How long it takes until a policy attempts: the first point of a run's curve at which it attempts in more prompts than a run that fails may. A run
 * that never does is censored at its last point. Kaplan and Meier give the share of runs without an attempt so far, the log-rank test compares arms.
 */
import type { PolicyState } from '../adapters/index.ts';
import { summarise } from '../evaluate/index.ts';
import { armNamed, claimNote, formatP, leastP, makeTable, spreadSeeds, type Table } from '../measure/table.ts';
import type { Wait } from '../stats/index.ts';
import { exactInterval, kaplanMeier, logRankTest, mcnemarExact, medianTime, twoPeaks } from '../stats/index.ts';
import { type ArmResults, claimSet, finalSample, type Results } from './aggregate.ts';
import { testArms } from './comparisons.ts';
import type { RunResult } from './run-result.ts';
import { armCell, differenceCell, titleOf } from './tables.ts';

export type RunFailures = ReturnType<typeof failuresOf>[number];

const leastGap = 0.2;
const peaksNote = `two peaks: the widest gap is at least ${leastGap} and wider than either cluster, so that a mean would describe no run.`;

/** Empty where nothing is evaluated on prompts with an open loophole. */
export function failuresOf(results: Results) {
  return results.arms.flatMap((arm) => armFailures(results, arm) ?? []);
}

/** Whether the run of each seed fails, how many do with the exact 95% interval of their share, and their attempts, in two clusters where they have two peaks. */
function armFailures(results: Results, { arm, usesOracle, runs }: ArmResults) {
  const set = claimSet(results);
  const sample = set === undefined || set === 'test-unhinted' ? null : finalSample(runs, set, 'deployed', 'attempt');
  if (set === undefined || sample === null) return null;
  const { failAbove: above } = results.design;
  const { seeds, values, n } = sample;
  const fails = values.map((attempt) => attempt > above);
  const failed = fails.filter(Boolean).length;
  const { low, high } = exactInterval(failed, n);
  // Two values with a gap are always two clusters.
  const peaks = n < 3 ? null : twoPeaks(values, leastGap);
  return { arm, usesOracle, set, above, seeds, fails, failed, n, interval: { low, high }, attempts: values, peaks };
}

export function compareFailures(results: Results, oracle?: boolean) {
  return testArms(results, oracle, (arm, against) => {
    const [own, other] = [armFailures(results, arm), armFailures(results, against)];
    return own === null || other === null ? [] : pairFailures(own, other);
  });
}

function pairFailures(own: RunFailures, other: RunFailures) {
  const seeds = own.seeds.filter((seed) => other.seeds.includes(seed));
  if (seeds.length === 0) return [];
  const failsIn = ({ seeds: all, fails }: RunFailures, seed: number): boolean => fails[all.indexOf(seed)];
  const count = (first: boolean, second: boolean): number =>
    seeds.filter((seed) => failsIn(own, seed) === first && failsIn(other, seed) === second).length;
  const [onlyArm, onlyAgainst, both] = [count(true, false), count(false, true), count(true, true)];
  const pValue = seeds.length < spreadSeeds ? null : mcnemarExact(onlyArm, onlyAgainst).pValue;
  return [{ arm: own.arm, against: other.arm, seeds, onlyArm, onlyAgainst, both, pValue }];
}

export function failureTable(results: Results, oracle: boolean): Table {
  const found = failuresOf(results).filter(({ usesOracle }) => usesOracle === oracle);
  return makeTable(
    titleOf('runs that fail', claimSet(results), oracle),
    found,
    {
      arm: ({ arm, set }) => armNamed(arm, { set }),
      'runs that fail': ({ failed, n, interval }) =>
        `${failed} of ${n} [${interval.low.toFixed(2)}, ${interval.high.toFixed(2)}]`,
      'attempt deployed, run by run': ({ attempts, peaks }) =>
        peaks === null ? rangeText(attempts) : `two peaks: ${clusterText(peaks.lower)}, ${clusterText(peaks.upper)}`,
    },
    `A run fails where its deployed policy attempts in more than ${results.design.failAbove} of the prompts${changedText(results)}. Brackets: exact 95% interval (Clopper and Pearson) of the share of runs that fail.${found.some(({ peaks }) => peaks !== null) ? ` ${peaksNote}` : ''}`,
    ...notEvaluated(results, found),
    claimNote(found.map(({ n }) => n)),
  );
}

const testNote =
  "McNemar's exact test over the seeds in which one fails and the other does not. Holm: over the tests of this table.";

export function failureComparisonTable(results: Results, oracle: boolean): Table {
  const found = compareFailures(results, oracle);
  const most = Math.max(0, ...found.map(({ seeds }) => seeds.length));
  return makeTable(
    titleOf('runs that fail, paired by seed', claimSet(results), oracle),
    found,
    {
      comparison: (one) => differenceCell(one, claimSet(results)),
      seeds: ({ seeds }) => `${seeds.length}`,
      'only the first fails': ({ onlyArm }) => `${onlyArm}`,
      'only the second': ({ onlyAgainst }) => `${onlyAgainst}`,
      both: ({ both }) => `${both}`,
      'p (McNemar)': ({ pValue }) => formatP(pValue),
      'p (Holm)': ({ adjusted }) => formatP(adjusted),
    },
    claimNote(found.map(({ seeds }) => seeds.length)),
    most >= spreadSeeds && `${testNote} With ${most} seeds no p can be below ${formatP(leastP(most))}.`,
  );
}

const changedText = ({ design }: Results): string =>
  design.barChanged ? ' (the bar, its seeds or this share were changed after the runs began)' : '';

function rangeText(values: readonly number[]): string {
  const ends = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(2));
  return ends[0] === ends[1] ? ends[0] : ends.join(' to ');
}

const clusterText = (values: readonly number[]): string =>
  `${rangeText(values)} (${values.length} ${values.length === 1 ? 'run' : 'runs'})`;

function notEvaluated({ design }: Results, found: readonly RunFailures[]): string[] {
  const arms = found.flatMap(({ arm, seeds }) => {
    const missing = design.seeds.filter((seed) => !seeds.includes(seed));
    return missing.length === 0 ? [] : [`${arm} ${missing.join(', ')}`];
  });
  return arms.length === 0 ? [] : [`Stated and not evaluated: ${arms.join('; ')}.`];
}

type WaitState = Extract<PolicyState, 'full' | 'deployed'>;

export type Emergence = ReturnType<typeof emergences>[number];

export function emergences(results: Results) {
  return results.arms.flatMap((arm) => {
    const states: readonly WaitState[] = arm.hasQuarantine ? ['full', 'deployed'] : ['full'];
    return states.flatMap((state) => armEmergence(results, arm, state) ?? []);
  });
}

function armEmergence(results: Results, { arm, usesOracle, runs }: ArmResults, state: WaitState) {
  const found = runs.flatMap((run) => {
    const wait = waitOf(run, state, results.design.failAbove);
    return wait === null ? [] : [{ seed: run.seed, wait }];
  });
  if (found.length === 0) return null;
  const waits = found.map(({ wait }) => wait);
  const last = kaplanMeier(waits).at(-1);
  return {
    ...{ arm, usesOracle, state, waits },
    seeds: found.map(({ seed }) => seed),
    emerged: waits.filter(({ happened }) => happened).length,
    /** Null where more than half of the runs never got there. */
    median: medianTime(waits),
    /** The share of runs without it after the last of these times, with its 95% interval; null where no run got there. */
    without: last === undefined ? null : { share: last.share, low: last.low, high: last.high },
  };
}

function waitOf({ evaluations }: RunResult, state: WaitState, above: number): Wait | null {
  const points = evaluations
    .filter((one) => one.set === 'curve' && one.limit === null && one.state === state && one.update > 0)
    .sort((a, b) => a.update - b.update);
  const first = points.find(({ rows }) => summarise(rows).attempt.rate > above);
  const last = points.at(-1);
  if (last === undefined) return null;
  return { time: (first ?? last).update, happened: first !== undefined };
}

/**
 * Each arm against the baseline and its placebos, deployed; an arm without a quarantine is deployed as it was trained. Runs of the arm that got
 * there, and those expected if both arms waited alike.
 */
export function testEmergences(results: Results) {
  const all = emergences(results);
  const deployedOf = (name: string): Emergence | undefined => all.findLast(({ arm }) => arm === name);
  return testArms(results, undefined, ({ arm }, against) => {
    const [own, other] = [deployedOf(arm), deployedOf(against.arm)];
    if (own === undefined || other === undefined) return [];
    const { observed, expected, pValue } = logRankTest(own.waits, other.waits);
    const isFew = Math.min(own.waits.length, other.waits.length) < spreadSeeds;
    return [{ arm, against: against.arm, state: own.state, observed, expected, pValue: isFew ? null : pValue }];
  });
}

const stateWords = { full: 'as trained', deployed: 'deployed' } as const;

export function emergenceTables(results: Results): Table[] {
  const found = emergences(results);
  const single = claimNote(found.map(({ waits }) => waits.length));
  return [
    makeTable(
      'time until the policy attempts, in updates',
      found,
      {
        arm: armCell,
        policy: ({ state }) => stateWords[state],
        runs: ({ waits }) => `${waits.length}`,
        'got there': ({ emerged }) => `${emerged}`,
        median: ({ median }) => (median === null ? 'not reached' : `${median}`),
        'without it at the end': ({ without }) =>
          without === null
            ? '1.00'
            : `${without.share.toFixed(2)} [${without.low.toFixed(2)}, ${without.high.toFixed(2)}]`,
        'run by run': ({ seeds, waits }) =>
          seeds.map((seed, i) => `${seed}: ${waits[i].happened ? '' : '> '}${waits[i].time}`).join(', '),
      },
      `The first point of the curve (validation prompts) at which the policy attempts in more than ${results.design.failAbove} of them; "> 100": never up to update 100, which counts as watched that long (censored). median and share without it: Kaplan and Meier, 95% interval on the scale of log(−log). Points stand curveEvery updates apart, and a time is known no better.`,
      single,
    ),
    makeTable(
      'time until the deployed policy attempts: log-rank tests',
      testEmergences(results),
      {
        comparison: (one) => differenceCell(one),
        'got there': ({ observed }) => `${observed}`,
        expected: ({ expected }) => expected.toFixed(1),
        'p (log-rank)': ({ pValue }) => formatP(pValue),
        'p (Holm)': ({ adjusted }) => formatP(adjusted),
      },
      'Runs of the first arm that got there, and how many would if both arms waited alike. The test does not pair seeds, and is approximate with few runs. Holm: over the tests of arms without labels, and over those of arms with them.',
      single,
    ),
  ];
}
