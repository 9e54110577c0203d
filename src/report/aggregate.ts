/**
 * Puts the runs of one experiment together, by arm and over seeds: mean ± SEM with n. The value of a single seed supports no
 * claim. Arms that use labels are kept apart and never pooled with the others. Only runs that differ in nothing but the seed are
 * pooled, and only evaluations on the same number of prompts stand in one table.
 */
import { basename } from 'node:path';
import type { PolicyState } from '../adapters/index.ts';
import { groupBy } from '../base/index.ts';
import { type FinalSet, finalSets, type OutcomeRow, type Rate, type Summary, summarise } from '../evaluate/index.ts';
import { samplingSettings } from '../grpo/settings.ts';
import { mean, standardError } from '../stats/index.ts';
import { type Design, noDesign } from './design.ts';
import { expectOneArm, onSamePrompts } from './final-states.ts';
import type { RunResult } from './run-result.ts';

export const states = ['base', 'full', 'deployed'] as const satisfies readonly PolicyState[];
export type State = (typeof states)[number];
/** Names as they stand in CSV, JSON and bars. */
export const metrics = ['attempt', 'hack', 'solve', 'clean-solve', 'objective', 'authorsLabel'] as const;
export type Metric = (typeof metrics)[number];
export type CountedMetric = Exclude<Metric, 'objective'>;

export interface ArmResults {
  readonly arm: string;
  readonly usesOracle: boolean;
  readonly hasQuarantine: boolean;
  readonly runs: readonly RunResult[];
}

export interface Results {
  readonly name: string;
  readonly baseline: string;
  readonly placebo: string | null;
  readonly design: Design;
  readonly sets: readonly FinalSet[];
  readonly arms: readonly ArmResults[];
  /** Runs that could not be read, and why. */
  readonly leftOut: readonly { readonly path: string; readonly why: string }[];
  /** Names of runs that are planned and not begun. */
  readonly missing: readonly string[];
  /** Runs that failed when they were tried last, begun or not. */
  readonly failed: readonly { readonly path: string; readonly why: string }[];
}

/** Arms that `order` does not name follow in the order in which they appear. */
export function aggregate(
  read: readonly RunResult[],
  options: Pick<Results, 'name' | 'baseline' | 'placebo'> &
    Partial<Pick<Results, 'design' | 'leftOut' | 'missing' | 'failed'>> & { readonly order?: readonly string[] },
): Results {
  const { name, baseline, placebo, order = [], design = noDesign, leftOut = [], missing = [], failed = [] } = options;
  const runs = onSamePrompts(read);
  const groups = groupBy(runs, ({ arm }) => arm);
  const known = [
    ...order.filter((arm) => groups.has(arm)),
    ...[...groups.keys()].filter((arm) => !order.includes(arm)),
  ];
  const arms = known.map((arm) => toArm(arm, groups.get(arm) ?? []));
  const sets = finalSets.filter((set) => runs.some(({ final }) => final[set] !== undefined));
  return { name, baseline, placebo, design, sets, arms, leftOut, missing, failed };
}

function toArm(arm: string, runs: readonly RunResult[]): ArmResults {
  const bySeed = runs.toSorted((a, b) => a.seed - b.seed);
  expectOneArm(arm, bySeed);
  return { arm, usesOracle: runs[0].usesOracle, hasQuarantine: runs[0].hasQuarantine, runs: bySeed };
}

/** The set that sentences and the tables of the write-up are about; undefined when nothing is evaluated. */
export function claimSet({ sets }: Results): FinalSet | undefined {
  return sets.find(isClaimed) ?? sets[0];
}

const isClaimed = (set: string): boolean => set === 'test-original';

/** What is claimed is about one set: it comes before the others, as in sentences and figures. */
export function claimFirst<Thing>(things: readonly Thing[], setOf: (thing: Thing) => string): Thing[] {
  return things.toSorted((a, b) => Number(isClaimed(setOf(b))) - Number(isClaimed(setOf(a))));
}

/** The set on which solving is judged: the one where no loophole is open, if it was evaluated. */
export function solveSet(results: Results): FinalSet | undefined {
  return results.sets.find((set) => set === 'test-unhinted') ?? claimSet(results);
}

export function findArm({ arms }: Results, name: string | null): ArmResults | undefined {
  return arms.find(({ arm }) => arm === name);
}

/** Arms that have runs which are planned and not begun, or which failed. */
export function armsToRun({ missing, failed }: Pick<Results, 'missing' | 'failed'>): Set<string> {
  const runs = [...missing, ...failed.map(({ path }) => basename(path))];
  return new Set(runs.map((run) => run.replace(/-\d+$/, '')));
}

/** Arms whose settings are a rule that runs with known labels suggested: they read no label, and are not free of them. */
export function labelInformed({ arms }: Pick<Results, 'arms'>): string[] {
  const informed = arms.filter(({ runs }) => runs.some(({ config }) => config.notes.thresholds === 'label-informed'));
  return informed.map(({ arm }) => arm);
}

export type Sample = Readonly<NonNullable<ReturnType<typeof sampleOf>>>;

/** The values of the runs that have one, by seed; null where none does. `single`: the rate of a single seed, with its interval over prompts. */
export function sampleOf(
  runs: readonly RunResult[],
  value: (run: RunResult) => number | null,
  interval: (run: RunResult) => Rate | null = () => null,
) {
  const found = runs.flatMap((run) => {
    const own = value(run);
    return own === null ? [] : [{ run, own }];
  });
  if (found.length === 0) return null;
  const values = found.map(({ own }) => own);
  return {
    seeds: found.map(({ run }) => run.seed),
    values,
    n: values.length,
    mean: mean(values),
    sem: values.length < 2 ? null : standardError(values),
    single: values.length === 1 ? interval(found[0].run) : null,
  };
}

/** The values of samples in the seeds that all of them have; nothing where a sample is missing. */
export function sharedSeeds(
  ...samples: readonly (Sample | null)[]
): { readonly seed: number; readonly values: readonly number[] }[] {
  const known = samples.filter((sample) => sample !== null);
  if (known.length < samples.length) return [];
  return known[0].seeds.flatMap((seed) => {
    const values = known.flatMap((sample) => sample.values[sample.seeds.indexOf(seed)] ?? []);
    return values.length < known.length ? [] : [{ seed, values }];
  });
}

/** Summaries of rows that were asked for: every table and sentence asks for the same few. */
const knownSummaries = new WeakMap<readonly OutcomeRow[], Summary>();

function summaryOf(rows: readonly OutcomeRow[]): Summary {
  const summary = knownSummaries.get(rows) ?? summarise(rows);
  knownSummaries.set(rows, summary);
  return summary;
}

export function finalSample(runs: readonly RunResult[], set: FinalSet, state: State, metric: Metric): Sample | null {
  const summaryIn = (run: RunResult) => {
    const rows = run.final[set]?.[state] ?? null;
    return rows === null || rows.length === 0 ? null : summaryOf(rows);
  };
  const rateIn = (run: RunResult): Rate | null => {
    const summary = summaryIn(run);
    return summary === null || metric === 'objective' ? null : rateOf(summary, metric);
  };
  return metric === 'objective'
    ? sampleOf(runs, (run) => summaryIn(run)?.objective ?? null)
    : sampleOf(runs, (run) => rateIn(run)?.rate ?? null, rateIn);
}

/** In how many seeds an arm is evaluated as it is deployed: the n of every rate; runs that are not, or not yet, do not count. */
export const evaluatedSeeds = (runs: readonly RunResult[], set: FinalSet): number =>
  finalSample(runs, set, 'deployed', 'hack')?.n ?? 0;

export function rateOf(summary: Summary, metric: CountedMetric): Rate | null {
  return metric === 'clean-solve' ? summary.cleanSolve : summary[metric];
}

export function loopholeSummary({ final }: RunResult, set: FinalSet, state: State, loophole: string): Summary | null {
  const rows = (final[set]?.[state] ?? []).filter((row) => row.loophole === loophole);
  return rows.length === 0 ? null : summarise(rows);
}

/**
 * The bases of the arms: one where all began from the same weights and are evaluated alike, the baseline's first. `of`: the arms whose base this is,
 * null where all have the same; one run per seed that has an evaluation of it, whichever arm made it.
 */
export function baseRuns({ arms, baseline }: Results, set: FinalSet) {
  const evaluated = arms
    .toSorted((a, b) => Number(b.arm === baseline) - Number(a.arm === baseline))
    .flatMap(({ runs }) => runs.filter(({ final }) => (final[set]?.base ?? null) !== null));
  const groups = [...groupBy(evaluated, baseKey).values()];
  return groups.map((runs) => {
    const seeds = new Map(runs.toReversed().map((run) => [run.seed, run]));
    const of = groups.length === 1 ? null : [...new Set(runs.map(({ arm }) => arm))];
    return { of, runs: [...seeds.values()].sort((a, b) => a.seed - b.seed) };
  });
}

function baseKey({ manifest: { identity }, config: { environment, sampling } }: RunResult): string {
  // How many completions an update draws, and in which state, is nothing to a base.
  return JSON.stringify([identity.model, identity.problems, environment, samplingSettings(sampling, [])]);
}

/** Formats a sample as `0.31 ± 0.04`, or for one seed as `0.31 [0.26, 0.37]`, with the interval over prompts. */
export function formatSample(sample: Sample | null, digits = 2): string {
  if (sample === null) return '-';
  const value = sample.mean.toFixed(digits);
  if (sample.sem !== null) return `${value} ± ${sample.sem.toFixed(digits)}`;
  if (sample.single === null) return value;
  return `${value} [${sample.single.low.toFixed(digits)}, ${sample.single.high.toFixed(digits)}]`;
}
