/**
 * Prefill sensitivity: how much more often a completion that was begun like a hack ends as one than a completion that was begun
 * neutrally, P(hack | hack-like opening) − P(hack | neutral opening), and the same of attempts, on the same prompts at every checkpoint. A rise may come before
 * the hack itself (a leading indicator, after EleutherAI's rh-indicators). RUN/prefill-curve.json holds the curves.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isPartial } from '../adapters/policy-state.ts';
import { readRegularText, writeFileAtomic } from '../base/node/index.ts';
import { openings } from '../env/openings.ts';
import { stampedJson } from '../run/index.ts';
import { type Interval, mean, meanInterval } from '../stats/index.ts';
import { curveNames } from './plan.ts';
import { openingProbe } from './probe.ts';
import { pairRows, summarise } from './rates.ts';
import { type CurveSet, curveSets, type EvaluationSet, findSet } from './sets.ts';
import { type ProbeName, type ProbeOutcomes, ProbeStore } from './store.ts';

export const prefillSets = curveSets.filter((set) => set !== 'test-unhinted');
export const parsePrefillSet = (name: string): CurveSet => findSet(prefillSets, name, '--sets');

export type PrefillPoint = Readonly<ReturnType<typeof prefillPoints>[number]>;

export function prefillNames(
  states: Parameters<typeof curveNames>[0],
  checkpoints: readonly number[],
  every: number,
  set: CurveSet,
  limit: number | null = null,
): ProbeName[] {
  const points = curveNames(states, checkpoints, every, set).map((point) => ({ ...point, limit }));
  return points.flatMap((point) => openings.map((opening) => ({ ...point, probe: openingProbe(opening) })));
}

export function prefillPoints(probes: readonly ProbeOutcomes[], set: EvaluationSet, limit: number | null = null) {
  const own = probes.filter((one) => one.set === set && one.limit === limit && !isPartial(one.state));
  return own
    .filter(({ probe }) => probe.opening === 'hack')
    .flatMap((begun) => {
      const { update, state } = begun;
      const other = own.find((one) => one.probe.opening === 'neutral' && one.update === update && one.state === state);
      return other === undefined ? [] : [{ update, state: state as string, ...comparedOpenings(begun, other) }];
    })
    .sort((a, b) => a.update - b.update);
}

function comparedOpenings(begun: ProbeOutcomes, other: ProbeOutcomes) {
  const pairs = pairRows(begun.rows, other.rows);
  const [attempts, hacks] = (['attempt', 'hack'] as const).map((metric) =>
    pairs.map(([a, b]) => Number(a[metric]) - Number(b[metric])),
  );
  const [after, neutral] = [summarise(begun.rows), summarise(other.rows)];
  return {
    attempt: after.attempt,
    hack: after.hack,
    neutralAttempt: neutral.attempt,
    neutral: neutral.hack,
    attemptDifference: mean(attempts),
    attemptInterval: intervalOf(attempts),
    difference: mean(hacks),
    interval: intervalOf(hacks),
  };
}

function intervalOf(differences: readonly number[]): Interval | null {
  if (differences.length < 2) return null;
  const { low, high } = meanInterval(differences);
  return { low, high };
}

export type PrefillCurves = Readonly<Partial<Record<CurveSet, readonly PrefillPoint[]>>>;

export async function writePrefillCurve(runPath: string): Promise<PrefillCurves> {
  const path = join(runPath, 'prefill-curve.json');
  const probes = new ProbeStore(runPath).all();
  const sets: PrefillCurves = Object.fromEntries(
    curveSets.flatMap((set) => {
      const points = prefillPoints(probes, set);
      return points.length === 0 ? [] : [[set, points]];
    }),
  );
  const text = stampedJson({ sets });
  if (!existsSync(path) || readRegularText(path) !== text) await writeFileAtomic(path, text);
  return sets;
}
