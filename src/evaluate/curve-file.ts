/**
 * eval-curve.json of a run: for every set that was evaluated over updates, the rates at every point. It is made from the stored
 * evaluations alone, on whole sets only, and made again whenever there are more of them.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isPartial } from '../adapters/index.ts';
import { readRegularText, writeFileAtomic } from '../base/node/index.ts';
import { readStamped, stampedJson } from '../run/index.ts';
import { type Summary, summarise } from './rates.ts';
import { type CurveSet, curveSets } from './sets.ts';
import { type Evaluation, EvaluationStore } from './store.ts';

export interface CurvePoint extends Summary {
  /** Updates completed; the base is at 0. */
  readonly update: number;
  readonly state: string;
}

export type Curves = Readonly<Partial<Record<CurveSet, readonly CurvePoint[]>>>;

const namesSchema = z.looseObject({ sets: z.partialRecord(z.enum(curveSets), z.array(z.unknown())) });

/** The points of one set, by update; states between full and deployed belong to no curve. */
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
