/** Runs that have not been evaluated yet, and the commands that evaluate them. */

import { shellLine } from '../base/index.ts';
import { finalSets } from '../evaluate/index.ts';
import type { Results } from './aggregate.ts';
import type { RunResult } from './run-result.ts';

export interface MissingEvaluation {
  readonly run: string;
  readonly commands: readonly string[];
}

/** Runs whose last checkpoint has not been evaluated on any set of the final evaluation. */
export function missingEvaluations({ arms }: Results): MissingEvaluation[] {
  return arms
    .flatMap(({ runs }) => runs)
    .filter((run) => !isEvaluated(run))
    .map(({ name, path }) => ({
      run: name,
      commands: [shellLine('gq', 'eval', path), shellLine('gq', 'eval', path, '--curve')],
    }));
}

function isEvaluated({ final }: RunResult): boolean {
  return finalSets.some((set) => (final[set]?.deployed ?? null) !== null);
}

/** Says what is missing; null when nothing is. */
export function describeMissing(missing: readonly MissingEvaluation[]): string | null {
  if (missing.length === 0) return null;
  const runs = missing.map(({ run }) => run).join(', ');
  const [have, hack, them] = missing.length === 1 ? ['has', 'it hacks', 'it'] : ['have', 'they hack', 'them'];
  return `${runs} ${have} not been evaluated: nothing here says how often ${hack} on held-out prompts. These commands evaluate ${them}; then make the report again.`;
}
