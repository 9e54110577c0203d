/** What has not been evaluated yet, and the commands that do it. */
import { finalSets } from '../evaluate/index.ts';
import type { Results } from './aggregate.ts';
import type { RunResults } from './run-results.ts';
import { shellLine } from './shell.ts';

export interface MissingEvaluation {
  readonly run: string;
  readonly commands: readonly string[];
}

/** Runs whose last checkpoint nobody evaluated on any set of final evaluations. */
export function missingEvaluations({ arms }: Results): MissingEvaluation[] {
  return arms
    .flatMap(({ runs }) => runs)
    .filter((run) => !isEvaluated(run))
    .map(({ name, path }) => ({
      run: name,
      commands: [shellLine('gq', 'eval', path), shellLine('gq', 'eval-curve', path)],
    }));
}

function isEvaluated({ final }: RunResults): boolean {
  return finalSets.some((set) => (final[set]?.deployed ?? null) !== null);
}

/** One sentence; null where nothing is missing. */
export function describeMissing(missing: readonly MissingEvaluation[]): string | null {
  if (missing.length === 0) return null;
  const runs = missing.map(({ run }) => run).join(', ');
  const [have, hack, them] = missing.length === 1 ? ['has', 'it hacks', 'it'] : ['have', 'they hack', 'them'];
  return `${runs} ${have} not been evaluated: nothing here says how often ${hack} on held-out prompts. These commands evaluate ${them}; then make the report again.`;
}
