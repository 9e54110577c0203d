/**
 * Runs that fail: those whose deployed policy attempts in more prompts of the claim's set than the experiment allows. A run hacks or it
 * does not, so the share of runs that fail, with its exact interval, says more than a mean over seeds. Arms are compared by McNemar's
 * exact test over the seeds in which one of the two fails and the other does not.
 */
import type { FinalSet } from '../evaluate/index.ts';
import { exactInterval, type Interval, mcnemarExact, type Peaks, twoPeaks } from '../stats/index.ts';
import { type ArmResults, claimSet, finalSample, type Results } from './aggregate.ts';
import { testArms } from './comparisons.ts';
import { armNamed, makeTable, type Table } from './table.ts';
import { differenceCell, formatP, noClaim, oracleTitle, setTitles } from './tables.ts';

export interface RunFailures {
  readonly arm: string;
  readonly usesOracle: boolean;
  readonly set: FinalSet;
  /** The share of prompts above which a run fails. */
  readonly above: number;
  readonly seeds: readonly number[];
  /** Whether the run of each seed fails. */
  readonly fails: readonly boolean[];
  readonly failed: number;
  readonly n: number;
  /** Exact 95% interval of the share of runs that fail. */
  readonly interval: Interval;
  /** Deployed attempts of each seed. */
  readonly attempts: readonly number[];
  /** The attempts in two clusters, where they have two peaks. */
  readonly peaks: Peaks | null;
}

/** The least gap between two peaks of attempts. */
const leastGap = 0.2;

/** Empty where nothing is evaluated on prompts with an open loophole. */
export function failuresOf(results: Results): RunFailures[] {
  return results.arms.flatMap((arm) => armFailures(results, arm) ?? []);
}

function armFailures(results: Results, { arm, usesOracle, runs }: ArmResults): RunFailures | null {
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

export interface FailureComparison {
  readonly arm: string;
  readonly against: string;
  /** Seeds that both arms have. */
  readonly seeds: readonly number[];
  /** Number of seeds in which only one of them fails, and in which both do. */
  readonly onlyArm: number;
  readonly onlyAgainst: number;
  readonly both: number;
  /** Null with one seed. */
  readonly pValue: number | null;
  readonly adjusted: number | null;
}

export function compareFailures(results: Results, oracle: boolean): FailureComparison[] {
  return testArms(results, oracle, (arm, against) => {
    const [own, other] = [armFailures(results, arm), armFailures(results, against)];
    return own === null || other === null ? [] : pairFailures(own, other);
  });
}

function pairFailures(own: RunFailures, other: RunFailures): Omit<FailureComparison, 'adjusted'>[] {
  const seeds = own.seeds.filter((seed) => other.seeds.includes(seed));
  if (seeds.length === 0) return [];
  const failsIn = ({ seeds: all, fails }: RunFailures, seed: number): boolean => fails[all.indexOf(seed)];
  const count = (first: boolean, second: boolean): number =>
    seeds.filter((seed) => failsIn(own, seed) === first && failsIn(other, seed) === second).length;
  const [onlyArm, onlyAgainst, both] = [count(true, false), count(false, true), count(true, true)];
  const pValue = seeds.length < 2 ? null : mcnemarExact(onlyArm, onlyAgainst).pValue;
  return [{ arm: own.arm, against: other.arm, seeds, onlyArm, onlyAgainst, both, pValue }];
}

export function failureTable(results: Results, oracle: boolean): Table {
  const found = failuresOf(results).filter(({ usesOracle }) => usesOracle === oracle);
  return makeTable(
    titleOf(results, 'runs that fail', oracle),
    found,
    {
      arm: ({ arm, set }) => armNamed(arm, { set }),
      'runs that fail': ({ failed, n, interval }) =>
        `${failed} of ${n} [${interval.low.toFixed(2)}, ${interval.high.toFixed(2)}]`,
      'attempt deployed, run by run': ({ attempts, peaks }) =>
        peaks === null ? rangeText(attempts) : `two peaks: ${clusterText(peaks.lower)}, ${clusterText(peaks.upper)}`,
    },
    [
      `A run fails where its deployed policy attempts in more than ${results.design.failAbove} of the prompts${changedText(results)}. Brackets: exact 95% interval (Clopper and Pearson) of the share of runs that fail. two peaks: the widest gap is at least ${leastGap} and wider than either cluster, so that a mean would describe no run.`,
      ...notEvaluated(results, found),
      ...(found.some(({ n }) => n === 1) ? [`${noClaim}.`] : []),
    ],
  );
}

const testNote =
  "McNemar's exact test over the seeds in which one fails and the other does not. Holm: over the tests of this table.";

export function failureComparisonTable(results: Results, oracle: boolean): Table {
  const found = compareFailures(results, oracle);
  const most = Math.max(0, ...found.map(({ seeds }) => seeds.length));
  return makeTable(
    titleOf(results, 'runs that fail, paired by seed', oracle),
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
    [
      ...(found.some(({ seeds }) => seeds.length === 1) ? [`${noClaim}.`] : []),
      ...(most < 2 ? [] : [`${testNote} With ${most} seeds no p can be below ${formatP(2 ** (1 - most))}.`]),
    ],
  );
}

function titleOf(results: Results, what: string, oracle: boolean): string {
  const set = claimSet(results);
  return `${what}${set === undefined ? '' : `, ${setTitles[set]}`}${oracle ? `: ${oracleTitle}` : ''}`;
}

const changedText = ({ design }: Results): string =>
  design.barChanged ? ' (the bar, its seeds or this share were changed after the runs began)' : '';

function rangeText(values: readonly number[]): string {
  const ends = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(2));
  return ends[0] === ends[1] ? ends[0] : ends.join(' to ');
}

const clusterText = (values: readonly number[]): string =>
  `${rangeText(values)} (${values.length} ${values.length === 1 ? 'run' : 'runs'})`;

/** Names the seeds that the experiment stated and that have no value, arm by arm. */
function notEvaluated({ design }: Results, found: readonly RunFailures[]): string[] {
  const arms = found.flatMap(({ arm, seeds }) => {
    const missing = design.seeds.filter((seed) => !seeds.includes(seed));
    return missing.length === 0 ? [] : [`${arm} ${missing.join(', ')}`];
  });
  return arms.length === 0 ? [] : [`Stated and not evaluated: ${arms.join('; ')}.`];
}
