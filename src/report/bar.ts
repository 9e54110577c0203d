/** Judges the bar that an experiment stated before its runs, and says why there are runs and what would settle the question. */
import { average, binomialCdf, holmAdjust } from '../stats/index.ts';
import { finalSample, findArm, type Results, sampleOf, sharedSeeds } from './aggregate.ts';
import type { Bar } from './design.ts';
import { groupSample } from './held-out.ts';
import { keptAndRemoved } from './kept.ts';
import type { RunResult } from './run-result.ts';
import { equalsP, formatP } from './tables.ts';

export interface BarVerdict {
  /** `met` or `refuted` as soon as the seeds that are missing could not change it; `open` until then. */
  readonly verdict: 'met' | 'refuted' | 'open';
  /** Values of the bar's seeds that are evaluated: the arm's, or their differences from the reference. */
  readonly values: readonly { readonly seed: number; readonly value: number }[];
  /** Number of those values that reach the bar. */
  readonly met: number;
  /** Number of seeds of the experiment. */
  readonly planned: number;
  readonly changed: boolean;
}

/** Null without a bar. Only the seeds that it was stated for count: with more of them, some would reach any bar. */
export function judgeBar(results: Results): BarVerdict | null {
  const { bar, barChanged } = results.design;
  return bar === null ? null : judge(results, bar, barChanged);
}

export interface JudgedPrediction extends BarVerdict {
  readonly bar: Bar;
  /**
   * Exact sign test, one-sided: how often as many of the stated seeds would reach the bar if each did so as often as not. A seed that is
   * missing does not reach it, so no seed can be left out to its advantage.
   */
  readonly pValue: number;
  /** After Holm over all predictions that were stated, evaluated or not. */
  readonly adjusted: number;
}

/** The bar of a claim, if it has one, and its further predictions, each with its verdict and its test. */
export function judgePredictions(results: Results): JudgedPrediction[] {
  const { bar, barChanged, predictions = [], claim } = results.design;
  const changed = claim?.changed ?? false;
  const judged = [
    ...(bar === null ? [] : [{ bar, ...judge(results, bar, barChanged || changed) }]),
    ...predictions.map((one) => ({ bar: one, ...judge(results, one, changed) })),
  ];
  const pValues = judged.map(({ met, planned }) => binomialCdf(planned - met, planned, 0.5));
  const adjusted = holmAdjust(pValues);
  return judged.map((one, i) => ({ ...one, pValue: pValues[i], adjusted: adjusted[i] }));
}

function judge(results: Results, bar: Bar, changed: boolean): BarVerdict {
  const { seeds } = results.design;
  const values = barValues(results, bar).filter(({ seed }) => seeds.includes(seed));
  const met = values.filter(({ value }) => reaches(bar, value)).length;
  const planned = Math.max(bar.inSeeds, seeds.length);
  const verdict = met >= bar.inSeeds ? 'met' : met + planned - values.length < bar.inSeeds ? 'refuted' : 'open';
  return { verdict, values, met, planned, changed };
}

function barValues(results: Results, { arm, reference, set, metric, loopholes, channel }: Bar): BarVerdict['values'] {
  if (metric === 'kept') {
    const points = keptAndRemoved(results).find((one) => one.arm === arm)?.points ?? [];
    return points.map(({ seed, kept }) => ({ seed, value: kept }));
  }
  const sampleOfArm = (name: string) => {
    const runs = findArm(results, name)?.runs ?? [];
    if (channel !== undefined) return sampleOf(runs, (run) => channelRate(run, set, channel));
    return loopholes === undefined
      ? finalSample(runs, set, 'deployed', metric)
      : groupSample({ runs }, set, loopholes, metric === 'attempt' ? 'attempt' : 'hack');
  };
  const compared = reference === null ? [arm] : [arm, reference];
  const pairs = sharedSeeds(...compared.map(sampleOfArm));
  return pairs.map(({ seed, values: [own, other = 0] }) => ({ seed, value: own - other }));
}

/** The share of prompts on which the deployed policy fires this loophole's channel; null where channels were not recorded. */
function channelRate({ final }: RunResult, set: Bar['set'], channel: string): number | null {
  const rows = final[set]?.deployed ?? [];
  if (rows.length === 0 || rows.some(({ channels }) => channels === null)) return null;
  return average(rows.map(({ channels }) => (channels?.includes(channel) ? 1 : 0)));
}

/** Rates are counts over prompts: a difference that equals the bar on paper may miss it in the last bits. */
const slack = 1e-9;

function reaches({ atLeast, atMost }: Bar, value: number): boolean {
  return atLeast !== undefined ? value >= atLeast - slack : value <= (atMost ?? 0) + slack;
}

/** Why, what would settle it, the bar and its verdict; for runs outside an experiment, the notes of each. */
export function describeDesign(results: Results): string[] {
  const { why, resolve } = results.design;
  const own = [...(why === '' ? [] : [`Why: ${why}`]), ...(resolve === '' ? [] : [`Settled by: ${resolve}`])];
  const runs = results.design.arms.length > 0 ? [] : results.arms.flatMap((arm) => arm.runs.flatMap(describeNotes));
  const bars = judgePredictions(results).flatMap((judged, _, all) => describeBar(judged, all.length));
  return [...own, ...runs, ...describeClaim(results), ...bars];
}

function describeNotes({ name, config: { notes } }: RunResult): string[] {
  return [
    ...(notes.why === '' ? [] : [`${name}, why: ${notes.why}`]),
    ...(notes.resolve === '' ? [] : [`${name}, settled by: ${notes.resolve}`]),
  ];
}

function describeBar(judged: JudgedPrediction, family: number): string[] {
  const { bar, verdict, planned, changed } = judged;
  return [
    `The bar${changed ? ' (changed after the runs began)' : ', stated before the runs'}: ${bar.what} That is: ${boundText(bar, planned)}.`,
    `The bar is ${verdict}: ${countText(judged)}${testText(judged, family)}.`,
  ];
}

/** What a bar or a prediction says in numbers. */
export function boundText(bar: Bar, seeds: number): string {
  const group = bar.loopholes === undefined ? '' : `, ${bar.loopholes.replace(' ', '-')} loopholes,`;
  const by = bar.channel === undefined ? '' : ` by ${bar.channel}`;
  const measured = `deployed ${bar.metric}${by} of ${bar.arm}${bar.reference === null ? '' : ` − ${bar.reference}`} on ${bar.set}${group}`;
  const bound = bar.atLeast !== undefined ? `at least ${bar.atLeast}` : `at most ${bar.atMost}`;
  return `${measured} ${bound}, in ${bar.inSeeds} of ${seeds} seeds`;
}

/** The numbers that a verdict comes from. */
export function countText({ values, met, planned }: Omit<BarVerdict, 'verdict'>): string {
  const bySeed = values.map(({ seed, value }) => `seed ${seed}: ${value.toFixed(3).replace('-', '−')}`).join(', ');
  const counts = `${values.length} of ${planned} seeds evaluated, the bar reached in ${met}`;
  return `${counts}${bySeed === '' ? '' : ` (${bySeed})`}`;
}

/** The test of one of several predictions; nothing where one bar is all that was stated. */
export function testText({ pValue, adjusted }: Pick<JudgedPrediction, 'pValue' | 'adjusted'>, family: number): string {
  if (family < 2) return '';
  const sign = `sign test over the stated seeds p ${equalsP(pValue)}`;
  return `; ${sign}, after Holm over ${family} predictions ${formatP(adjusted)}`;
}

/** What was stated, begun and left out under a claim. */
function describeClaim({ arms, design: { claim } }: Results): string[] {
  if (claim === undefined) return [];
  const { hash, changed, stated, begun, notStated, ended, missing, gone, blind, opened } = claim;
  const runs = arms.flatMap((arm) => arm.runs).filter(({ manifest }) => manifest.claim?.blind === true);
  const known = runs.map(({ name }) => name).filter((name) => !blind.includes(name));
  const named = (folders: readonly string[]): string => (folders.length === 0 ? 'none' : folders.join(', '));
  const more = notStated === 0 ? '' : `, ${notStated} of them not stated`;
  return [
    `Claim ${hash.slice(0, 12)}${changed ? ', changed after its first run' : ', stated before its first run'}: ${stated} runs stated, ${begun} begun${more}, ${ended} ended. Stated and not begun: ${named(missing)}. Begun and gone: ${named(gone)}.`,
    ...(blind.length === 0 ? [] : [`Blind until the claim is opened: ${named(blind)}.`]),
    ...(known.length === 0
      ? []
      : [`Trained blind: ${known.join(', ')}; opened ${opened ?? 'at a time that is not known'}.`]),
  ];
}
