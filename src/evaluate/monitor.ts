/**
 * The monitoring subset of curves: at most 64 prompts of the validation pool, stratified by whether the base solves them, at the
 * base's own rate. Chosen once, from the base alone; the ids are frozen in a file, so every checkpoint sees the same prompts.
 */
import { randomStream } from '../base/index.ts';
import type { EvaluationRow } from './evaluate.ts';

const monitorPrompts = 64;

export interface MonitorChoice {
  readonly pool: number;
  /** Prompts of the pool that the base solves. */
  readonly poolSolved: number;
  readonly solved: number;
  readonly ids: readonly string[];
}

export function chooseMonitor(base: readonly EvaluationRow[], seed: number, count = monitorPrompts): MonitorChoice {
  const size = Math.min(count, base.length);
  const [pass, fail] = [base.filter(({ solve }) => solve), base.filter(({ solve }) => !solve)];
  const solved = Math.round((size * pass.length) / Math.max(1, base.length));
  const take = (rows: readonly EvaluationRow[], stratum: string, wanted: number): string[] => {
    const order = randomStream(seed, ['monitoring subset', stratum]).permutation(rows.length);
    return Array.from(order.subarray(0, wanted), (i) => rows[i].problem);
  };
  const ids = [...take(pass, 'solved', solved), ...take(fail, 'failed', size - solved)].sort();
  return { pool: base.length, poolSolved: pass.length, solved, ids };
}
