/**
 * The curve set: at most 64 prompts of the validation pool, with the same share that the base solves as in the pool. It is
 * chosen once, from the base alone; the ids are frozen in a file, so every checkpoint on a curve sees the same prompts.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isPartial } from '../adapters/policy-state.ts';
import { randomStream } from '../base/index.ts';
import { readRegularText, writeFileAtomic } from '../base/node/index.ts';
import { readStamped, stampedJson } from '../run/index.ts';
import { type Summary, summarise } from './rates.ts';
import { type CurveSet, curveSets } from './sets.ts';
import { type Evaluation, type EvaluationRow, EvaluationStore } from './store.ts';

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

function curvePoints(evaluations: readonly Evaluation[], set: CurveSet): CurvePoint[] {
  return evaluations
    .filter((one) => one.set === set && one.limit === null && !isPartial(one.state))
    .map(({ update, state, rows }) => ({ update, state, ...summarise(rows) }))
    .sort((a, b) => a.update - b.update);
}

/** Writes the curve of a set, with those of the sets that are in the file already; a file that has them all stays as it is. */
export async function writeCurve(runPath: string, set: CurveSet): Promise<Curves> {
  const path = join(runPath, 'eval-curve.json');
  const fix = 'The file was damaged, or something else wrote it: delete it, and gq eval --curve makes it again.';
  const known = existsSync(path) ? readStamped(path, 'curves of a run', namesSchema, fix).sets : {};
  const evaluations = new EvaluationStore(runPath).all();
  const wanted = curveSets.filter((name) => name === set || known[name] !== undefined);
  const sets: Curves = Object.fromEntries(wanted.map((name) => [name, curvePoints(evaluations, name)]));
  const text = stampedJson({ sets });
  if (!existsSync(path) || readRegularText(path) !== text) await writeFileAtomic(path, text);
  return sets;
}
