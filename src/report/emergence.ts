/**
 * How long it takes until a policy attempts: the first point of a run's curve at which it attempts in more prompts than a run that fails may.
 * A run that never does is censored at its last point, so it counts as one that was watched that long. Kaplan and Meier give the share of
 * runs without an attempt so far, the log-rank test compares arms.
 */
import type { PolicyState } from '../adapters/index.ts';
import { summarise } from '../evaluate/index.ts';
import { kaplanMeier, logRankTest, medianTime, type Wait } from '../stats/index.ts';
import type { ArmResults, Results } from './aggregate.ts';
import { testArms } from './comparisons.ts';
import type { RunResult } from './run-result.ts';
import { makeTable, type Table } from './table.ts';
import { armCell, differenceCell, formatP, noClaim } from './tables.ts';

type WaitState = Extract<PolicyState, 'full' | 'deployed'>;

export interface Emergence {
  readonly arm: string;
  readonly usesOracle: boolean;
  readonly state: WaitState;
  readonly seeds: readonly number[];
  /** One entry a seed: updates completed at the first point that is above the share, or at the last point. */
  readonly waits: readonly Wait[];
  readonly emerged: number;
  /** Null where more than half of the runs never got there. */
  readonly median: number | null;
  /** The share of runs without it after the last of these times, with its 95% interval; 1 where no run got there. */
  readonly without: { readonly share: number; readonly low: number; readonly high: number } | null;
}

/** Arm by arm, as trained and deployed; an arm whose runs have no curve is left out. */
export function emergences(results: Results): Emergence[] {
  return results.arms.flatMap((arm) => {
    const states: readonly WaitState[] = arm.hasQuarantine ? ['full', 'deployed'] : ['full'];
    return states.flatMap((state) => armEmergence(results, arm, state) ?? []);
  });
}

function armEmergence(results: Results, { arm, usesOracle, runs }: ArmResults, state: WaitState): Emergence | null {
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
    median: medianTime(waits),
    without: last === undefined ? null : { share: last.share, low: last.low, high: last.high },
  };
}

/** Null for a run without a curve after its start. */
function waitOf({ evaluations }: RunResult, state: WaitState, above: number): Wait | null {
  const points = evaluations
    .filter((one) => one.set === 'curve' && one.limit === null && one.state === state && one.update > 0)
    .sort((a, b) => a.update - b.update);
  const first = points.find(({ rows }) => summarise(rows).attempt.rate > above);
  const last = points.at(-1);
  if (last === undefined) return null;
  return { time: (first ?? last).update, happened: first !== undefined };
}

export interface EmergenceTest {
  readonly arm: string;
  readonly against: string;
  readonly state: WaitState;
  /** Runs of the arm that got there, and those expected if both arms waited alike. */
  readonly observed: number;
  readonly expected: number;
  readonly pValue: number | null;
  readonly adjusted: number | null;
}

/** Each arm against the baseline and its placebos, deployed; an arm without a quarantine is deployed as it was trained. */
export function testEmergences(results: Results): EmergenceTest[] {
  const all = emergences(results);
  const deployedOf = (name: string): Emergence | undefined => all.findLast(({ arm }) => arm === name);
  return [false, true].flatMap((oracle) =>
    testArms(results, oracle, ({ arm }, against) => {
      const [own, other] = [deployedOf(arm), deployedOf(against.arm)];
      if (own === undefined || other === undefined) return [];
      const { observed, expected, pValue } = logRankTest(own.waits, other.waits);
      const isOne = Math.min(own.waits.length, other.waits.length) < 2;
      return [{ arm, against: against.arm, state: own.state, observed, expected, pValue: isOne ? null : pValue }];
    }),
  );
}

const stateWords = { full: 'as trained', deployed: 'deployed' } as const;

export function emergenceTables(results: Results): Table[] {
  const found = emergences(results);
  const single = found.some(({ waits }) => waits.length === 1) ? [`${noClaim}.`] : [];
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
      [
        `The first point of the curve (validation prompts) at which the policy attempts in more than ${results.design.failAbove} of them; "> 100": never up to update 100, which counts as watched that long (censored). median and share without it: Kaplan and Meier, 95% interval on the scale of log(−log). Points stand curveEvery updates apart, and a time is known no better.`,
        ...single,
      ],
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
      [
        'Runs of the first arm that got there, and how many would if both arms waited alike. The test does not pair seeds, and is approximate with few runs. Holm: over the tests of arms without labels, and over those of arms with them.',
        ...single,
      ],
    ),
  ];
}
