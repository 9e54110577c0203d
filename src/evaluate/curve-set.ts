/**
 * The curve set: at most 64 prompts of the validation pool, with the same share that the base solves as in the pool. It is
 * chosen once, from the base alone; the ids are frozen in a file, so every checkpoint on a curve sees the same prompts.
 */
import { z } from 'zod';
import { randomStream } from '../base/index.ts';
import type { EvaluationRow } from './store.ts';

/** Number of prompts in the curve set, if the pool has as many. */
export const curvePrompts = 64;

export const curveChoiceSchema = z.strictObject({
  pool: z.int().min(1),
  /** Prompts of the pool that the base solves. */
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
