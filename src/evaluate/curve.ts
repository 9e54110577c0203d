/**
 * Curves over updates. The curve set is at most 64 prompts of the validation pool, with the same share that the base solves as in the pool. It is
 * chosen once, from the base alone; the ids are frozen in a file, so every checkpoint on a curve sees the same prompts.
 *
 * Prefill sensitivity: how much more often a completion that was begun like a hack ends as one than a completion that was begun
 * neutrally, P(hack | hack-like opening) − P(hack | neutral opening), and the same of attempts, on the same prompts at every checkpoint. A rise may come before
 * the hack itself (a leading indicator, after EleutherAI's rh-indicators).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isPartial } from '../adapters/policy-state.ts';
import { randomStream } from '../base/index.ts';
import { readRegularText, writeFileAtomic } from '../base/node/index.ts';
import { openings } from '../env/openings.ts';
import { makeAgain, readStamped, stampedJson } from '../run/index.ts';
import { type Interval, mean, meanInterval, within } from '../stats/index.ts';
import { curveNames } from './plan.ts';
import { byTarget, pairRows, type Summary, summarise } from './rates.ts';
import { type CurveSet, curveSets, type EvaluationSet, findSet, openingProbe } from './sets.ts';
import { type EvaluationRow, EvaluationStore, type ProbeName, type ProbeOutcomes } from './store.ts';

export const curvePrompts = 64;

export const curveChoiceSchema = z.strictObject({
  pool: z.int().min(1),
  poolSolved: z.int().min(0),
  solved: z.int().min(0),
  ids: z.array(z.string()).min(1),
});

export type CurveChoice = Readonly<z.infer<typeof curveChoiceSchema>>;

export function chooseCurveSet(base: readonly EvaluationRow[], seed: number, count = curvePrompts): CurveChoice {
  const size = Math.min(count, base.length);
  const [pass, fail] = [base.filter(({ solve }) => solve), base.filter(({ solve }) => !solve)];
  const solved = Math.round((size * pass.length) / Math.max(1, base.length));
  const take = (rows: readonly EvaluationRow[], stratum: string, wanted: number): string[] => {
    // The stream's name decides which prompts are drawn: a new name would make curves incomparable with published ones.
    const order = randomStream(seed, ['monitoring subset', stratum]).permutation(rows.length);
    return Array.from(order.subarray(0, wanted), (i) => rows[i].problem);
  };
  const ids = [...take(pass, 'solved', solved), ...take(fail, 'failed', size - solved)].sort();
  return { pool: base.length, poolSolved: pass.length, solved, ids };
}

/** At an update, counted in those completed: the base is at 0. */
export type CurvePoint = Summary & { readonly update: number; readonly state: string };
export type Curves = Readonly<Partial<Record<CurveSet, readonly CurvePoint[]>>>;

const namesSchema = z.looseObject({ sets: z.partialRecord(z.enum(curveSets), z.array(z.unknown())) });

/** Writes the curve of a set, with those of the sets that are in the file already. */
export async function writeCurve(runPath: string, set: CurveSet): Promise<Curves> {
  const path = join(runPath, 'eval-curve.json');
  const fix = makeAgain('gq eval --curve');
  const known = existsSync(path) ? readStamped(path, 'curves of a run', namesSchema, fix).sets : {};
  const evaluations = new EvaluationStore(runPath).all();
  const points = (name: CurveSet): CurvePoint[] =>
    evaluations
      .filter((one) => one.set === name && one.limit === null && !isPartial(one.state))
      .map(({ update, state, rows }) => ({ update, state, ...summarise(rows) }))
      .sort((a, b) => a.update - b.update);
  const wanted = curveSets.filter((name) => name === set || known[name] !== undefined);
  return saveCurves(path, Object.fromEntries(wanted.map((name) => [name, points(name)])));
}

/** A file that has them all stays as it is. */
async function saveCurves<Sets>(path: string, sets: Sets): Promise<Sets> {
  const text = stampedJson({ sets });
  if (!existsSync(path) || readRegularText(path) !== text) await writeFileAtomic(path, text);
  return sets;
}

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
  const [after, neutral] = [summarise(begun.rows), summarise(other.rows)];
  return byTarget((label) => {
    const differences = pairs.map(([a, b]) => Number(a[label]) - Number(b[label]));
    const compared = { difference: mean(differences), interval: intervalOf(differences) };
    return { hackLike: after[label], neutral: neutral[label], ...compared };
  });
}

function intervalOf(differences: readonly number[]): Interval | null {
  if (differences.length < 2) return null;
  return within(-1, 1, meanInterval(differences));
}

export async function writePrefillCurve(
  runPath: string,
): Promise<Readonly<Partial<Record<CurveSet, readonly PrefillPoint[]>>>> {
  const probes = new EvaluationStore(runPath).probes();
  const sets = curveSets.map((set) => [set, prefillPoints(probes, set)] as const);
  const measured = sets.filter(([, points]) => points.length > 0);
  return saveCurves(join(runPath, 'prefill-curve.json'), Object.fromEntries(measured));
}
