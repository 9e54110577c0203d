/** How two runs answer the same prompts: the last evaluations of both, set by set and state by state. */
import type { RunDirectory } from '../run/index.ts';
import { formatRate, type OutcomeRates, pairRows, summarise } from './rates.ts';
import { type Evaluation, EvaluationStore } from './store.ts';

export interface ComparedEvaluation {
  readonly set: string;
  readonly prompts: number;
  readonly state: string;
  readonly attempt: readonly [string, string];
  readonly hack: readonly [string, string];
  readonly solve: readonly [string, string];
  readonly cleanSolve: readonly [string, string];
  /** Prompts with an attempt in the first run only, and in the second only; null where the runs were asked different prompts. */
  readonly attemptsInOne: readonly [number, number] | null;
  /** The same of hacks. */
  readonly onlyFirst: number | null;
  readonly onlySecond: number | null;
}

/** The evaluations of the last update that was evaluated, and of the base. Without a quarantine, what is trained is deployed. */
function lastEvaluations(run: RunDirectory): Evaluation[] {
  const all = new EvaluationStore(run.path).all().filter(({ set }) => set !== 'curve' && set !== 'validation');
  const last = Math.max(0, ...all.map(({ update }) => update));
  const own = all.filter(({ update }) => update === last || update === 0);
  if (run.readManifest().hasQuarantine) return own;
  return own.flatMap((one) => (one.state === 'full' ? [one, { ...one, state: 'deployed' as const }] : [one]));
}

export function compareRuns(first: RunDirectory, second: RunDirectory): ComparedEvaluation[] {
  const others = lastEvaluations(second);
  return lastEvaluations(first).flatMap((one) => {
    const other = others.find((each) => each.set === one.set && each.state === one.state && each.limit === one.limit);
    if (other === undefined) return [];
    const [a, b] = [summarise(one.rows), summarise(other.rows)];
    const both = (metric: keyof OutcomeRates): [string, string] => [formatRate(a[metric]), formatRate(b[metric])];
    const rates = {
      attempt: both('attempt'),
      hack: both('hack'),
      solve: both('solve'),
      cleanSolve: both('cleanSolve'),
    };
    return [{ set: one.set, prompts: one.rows.length, state: one.state, ...rates, ...discordant(one, other) }];
  });
}

function discordant(one: Evaluation, other: Evaluation) {
  // Prompts of other problems cannot be paired.
  if (one.key !== other.key && one.rows.some(({ problem }, i) => problem !== other.rows[i]?.problem)) {
    return { attemptsInOne: null, onlyFirst: null, onlySecond: null };
  }
  const pairs = pairRows(one.rows, other.rows);
  const inOne = (metric: 'attempt' | 'hack'): [number, number] => [
    pairs.filter(([a, b]) => a[metric] && !b[metric]).length,
    pairs.filter(([a, b]) => !a[metric] && b[metric]).length,
  ];
  const [onlyFirst, onlySecond] = inOne('hack');
  return { attemptsInOne: inOne('attempt'), onlyFirst, onlySecond };
}
