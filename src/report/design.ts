/** What an experiment says about itself: its question, its bar, and which arms are compared with which; and whether the bar is met. */

import { shellLine } from '../base/index.ts';
import { equalsP, fewestSeeds, formatP } from '../measure/table.ts';
import { average, binomialCdf, holmAdjust } from '../stats/index.ts';
import { finalSample, findArm, type Results, sampleOf, sharedSeeds } from './aggregate.ts';
import type { Bar, Experiment } from './experiment-schema.ts';
import { groupSample } from './held-out.ts';
import { keptAndRemoved } from './kept.ts';
import { relearnedLater } from './probe-tables.ts';
import type { RunResult } from './run-result.ts';
import { runsText } from './runs-text.ts';

export interface ClaimFacts {
  readonly hash: string;
  /** Whether it was stated, or stated anew, after runs of the study had begun. */
  readonly changed: boolean;
  /** Runs that it states; of all runs that were begun, how many, how many of them it does not state, and how many have ended. */
  readonly stated: number;
  readonly begun: number;
  readonly notStated: number;
  /** Of those that were begun: runs of other folders, which were not trained again, and whether some were begun before the claim was stated. */
  readonly elsewhere: readonly {
    readonly folder: string;
    readonly runs: readonly string[];
    readonly isEarly: boolean;
  }[];
  readonly ended: number;
  /** Stated runs that were never begun, runs that were begun and are gone, and blind runs that are not opened, by their folders. */
  readonly missing: readonly string[];
  readonly gone: readonly string[];
  readonly blind: readonly string[];
  /** When the blind seeds were opened; null: they were not, or there are none. */
  readonly opened: string | null;
  /** Runs that were not trained when they were: their seeds are not blind. */
  readonly openedEarly: readonly string[];
  /** What the folder of the study holds and its register does not account for, and the other way round. */
  readonly faults: readonly string[];
}

type Designed = 'why' | 'resolve' | 'bar' | 'predictions' | 'seeds' | 'arms' | 'ceiling' | 'matchedSolve' | 'failAbove';

export interface Design extends Readonly<Pick<Experiment, Designed | 'solveReference' | 'references' | 'relearn'>> {
  readonly claim?: ClaimFacts | undefined;
  readonly barChanged: boolean;
  /** What `gq experiment` is called with to go on with it; null: it has no file, as demos of earlier versions; undefined: nobody stored it. */
  readonly again?:
    | {
        readonly recipe: string;
        readonly set: readonly string[];
        readonly out: string | null;
        /** Those that are planned, where these are not all. */
        readonly arms?: readonly string[] | undefined;
      }
    | null
    | undefined;
}

export const noDesign: Design = {
  why: '',
  resolve: '',
  bar: null,
  barChanged: false,
  seeds: [],
  arms: [],
  ceiling: null,
  matchedSolve: 0.05,
  failAbove: 0.1,
  solveReference: null,
  references: [],
  relearn: null,
};

/** Null without a bar. Only the seeds that it was stated for count: with more of them, some would reach any bar. */
export function judgeBar(results: Results) {
  const { bar, barChanged } = results.design;
  return bar === null ? null : judge(results, bar, barChanged);
}

export type JudgedPrediction = ReturnType<typeof judgePredictions>[number];

/**
 * All bars with an exact sign test, one-sided: how often as many of the stated seeds would reach the bar if each did so as often as not. A seed that is
 * missing does not reach it, so no seed can be left out to its advantage. Holm: over all that were stated, evaluated or not.
 */
export function judgePredictions(results: Results) {
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

/** `met` or `refuted` as soon as the seeds that are missing could not change it; `open` until then. */
function judge(results: Results, bar: Bar, changed: boolean) {
  const { seeds } = results.design;
  const values = barValues(results, bar).filter(({ seed }) => seeds.includes(seed));
  const met = values.filter(({ value }) => reaches(bar, value)).length;
  const planned = Math.max(bar.inSeeds, seeds.length);
  const isOut = met + planned - values.length < bar.inSeeds;
  const verdict: 'met' | 'refuted' | 'open' = met >= bar.inSeeds ? 'met' : isOut ? 'refuted' : 'open';
  return { verdict, values, met, planned, changed };
}

function barValues(results: Results, { arm, reference, set, metric, loopholes, channel }: Bar) {
  if (metric === 'kept') {
    const points = keptAndRemoved(results).find((one) => one.arm === arm)?.points ?? [];
    return points.map(({ seed, kept }) => ({ seed, value: kept }));
  }
  const sampleOfArm = (name: string) => {
    const runs = findArm(results, name)?.runs ?? [];
    if (metric === 'relearn') {
      const later = relearnedLater(results, name);
      return sampleOf(runs, (run) => later.find(({ seed }) => seed === run.seed)?.value ?? null);
    }
    if (channel !== undefined) return sampleOf(runs, (run) => channelRate(run, set, channel));
    return loopholes === undefined
      ? finalSample(runs, set, 'deployed', metric)
      : groupSample({ runs }, set, loopholes, metric === 'attempt' ? 'attempt' : 'hack');
  };
  const compared = reference === null ? [arm] : [arm, reference];
  const pairs = sharedSeeds(...compared.map(sampleOfArm));
  return pairs.map(({ seed, values: [own, other = 0] }) => ({ seed, value: own - other }));
}

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

export function boundText(bar: Bar, seeds: number): string {
  const group = bar.loopholes === undefined ? '' : `, ${bar.loopholes.replace(' ', '-')} loopholes,`;
  const by = bar.channel === undefined ? '' : ` by ${bar.channel}`;
  const measured = `deployed ${bar.metric}${by} of ${bar.arm}${bar.reference === null ? '' : ` − ${bar.reference}`} on ${bar.set}${group}`;
  const bound = bar.atLeast !== undefined ? `at least ${bar.atLeast}` : `at most ${bar.atMost}`;
  return `${measured} ${bound}, in ${bar.inSeeds} of ${seeds} seeds`;
}

export function countText({ values, met, planned }: Pick<JudgedPrediction, 'values' | 'met' | 'planned'>): string {
  const bySeed = values.map(({ seed, value }) => `seed ${seed}: ${value.toFixed(3).replace('-', '−')}`).join(', ');
  const counts = `${values.length} of ${planned} seeds evaluated, the bar reached in ${met}`;
  return `${counts}${bySeed === '' ? '' : ` (${bySeed})`}`;
}

export function testText({ pValue, adjusted }: Pick<JudgedPrediction, 'pValue' | 'adjusted'>, family: number): string {
  if (family < 2) return '';
  const sign = `sign test over the stated seeds p ${equalsP(pValue)}`;
  return `; ${sign}, after Holm over ${family} predictions ${formatP(adjusted)}`;
}

export const earlyText = (folders: readonly string[]): string =>
  `Not blind, since they were opened before they were trained: ${folders.join(', ')}.`;

export const faultsText = (faults: readonly string[]): string =>
  `This study does not fit its register: ${faults.join('; ')}.`;

/** Of runs that another folder has: their outcomes could be known when the claim was stated. */
export const earlierText = ', before this was stated here';

function describeClaim({ arms, design: { claim } }: Results): string[] {
  if (claim === undefined) return [];
  const { hash, changed, stated, begun, notStated, elsewhere, ended, missing, gone } = claim;
  const { blind, opened, openedEarly, faults } = claim;
  const blindly = arms.flatMap(({ runs }) => runs.filter(({ manifest }) => manifest.claim?.blind === true));
  const names = blindly.map(({ name }) => name).filter((name) => !blind.includes(name));
  const [known, early] = [false, true].map((isEarly) => names.filter((name) => openedEarly.includes(name) === isEarly));
  const named = (folders: readonly string[]): string => (folders.length === 0 ? 'none' : runsText(folders));
  const more = [
    ...(notStated === 0 ? [] : [`, ${notStated} of them not stated`]),
    ...elsewhere.map(
      ({ folder, runs, isEarly }) => `, ${runs.length} of them in ${folder}${isEarly ? earlierText : ''}`,
    ),
  ].join('');
  return [
    `Claim ${hash.slice(0, 12)}${changed ? ', changed after its first run' : ', stated before its first run'}: ${stated} runs stated, ${begun} begun${more}, ${ended} ended. Stated and not begun: ${named(missing)}. Begun and gone: ${named(gone)}.`,
    ...(faults.length === 0 ? [] : [faultsText(faults)]),
    ...(blind.length === 0 ? [] : [`Blind until the claim is opened: ${named(blind)}.`]),
    ...(known.length === 0
      ? []
      : [`Trained blind: ${known.join(', ')}; opened ${opened ?? 'at a time that is not known'}.`]),
    ...(early.length === 0 ? [] : [earlyText(early)]),
  ];
}

/** How to have seeds enough for a claim: by the study's own file, which a demo of an earlier version did not store; it has its name. */
export function moreSeeds({ name, design }: Results): [how: string] | [] {
  const others = Array.from({ length: fewestSeeds }, (_, i) => i + 1).filter((seed) => !design.seeds.includes(seed));
  const wanted = [...design.seeds, ...others.slice(0, Math.max(0, fewestSeeds - design.seeds.length))];
  const seeds = ['--seeds', wanted.sort((a, b) => a - b).join(',')];
  if (design.again === null) return [shellLine('gq', 'experiment', name, ...seeds)];
  if (design.again === undefined) return design.arms.length === 0 ? [] : [`the file of ${name}, ${seeds.join(' ')}`];
  const { out } = design.again;
  // What was stated was stated of its seeds: with others it is another study, in a folder of its own, which need not train again what is there.
  const isStated = design.bar !== null || design.predictions !== undefined;
  if (!isStated || wanted.length === design.seeds.length) return [callOf(design.again, seeds)];
  const own = out ?? `runs/${name}`;
  return [callOf({ ...design.again, out: `${own}-more` }, seeds, ['--from', own])];
}

function callOf(
  { recipe, set, out, arms }: NonNullable<Design['again']>,
  seeds: readonly string[],
  from: readonly string[] = [],
): string {
  const some = arms === undefined ? [] : ['--arms', arms.join(',')];
  const changes = set.flatMap((setting) => ['--set', setting]);
  const to = out === null ? [] : ['--out', out];
  return shellLine('gq', 'experiment', recipe, ...seeds, ...some, ...changes, ...from, ...to);
}

/** The call that goes on with the experiment, with the seeds and the arms that it was begun with; null where nobody stored its file. */
export const goesOn = ({ design: { again, seeds } }: Results): string | null =>
  again === null || again === undefined ? null : callOf(again, ['--seeds', seeds.join(',')]);
