/**
 * The teacher phase (docs/science.md, section 6): in the first updates the last members of every group are demonstrations, exactly n
 * solves and, for a prompt with its hint, exactly n hacks. Its prompts are drawn from the problems that the pool covers.
 */
import { UserError } from '../base/index.ts';
import type { Task } from './rollout.ts';

/** Demonstrations by problem id, already tokenized, and graded again when they were imported. */
export interface DemonstrationPool {
  readonly hacks: ReadonlyMap<string, readonly Int32Array[]>;
  readonly solves: ReadonlyMap<string, readonly Int32Array[]>;
}

export interface TeacherSettings {
  readonly sampling: { readonly group: number };
  readonly teacher: { readonly offStep: number; readonly perGroup: number };
}

/** How many members at the end of a group are demonstrations. */
export function demonstrationsIn({ teacher }: TeacherSettings, step: number, hackable: boolean): number {
  if (step >= teacher.offStep) return 0;
  return hackable ? 2 * teacher.perGroup : teacher.perGroup;
}

/** Tells a demonstration from a rollout of the policy by its id, in a run that has a pool. */
export function isDemonstration(settings: TeacherSettings, id: string, hackable: boolean): boolean {
  const [update, , member] = id.split('-').map(Number);
  return member >= settings.sampling.group - demonstrationsIn(settings, update - 1, hackable);
}

/** The tasks that have n solves and, unless they are graded by ground truth alone, n hacks. */
export function coveredTasks(tasks: readonly Task[], pool: DemonstrationPool, perGroup: number): readonly Task[] {
  const has = (known: DemonstrationPool['hacks'], id: string): boolean => (known.get(id)?.length ?? 0) >= perGroup;
  return tasks.filter(
    ({ problem: { id }, loophole }) => has(pool.solves, id) && (loophole === 'gt_only' || has(pool.hacks, id)),
  );
}

/** Refuses a pool that covers fewer problems than an update has prompts. `source` names the pool. */
export function expectCovered(
  tasks: readonly Task[],
  pool: DemonstrationPool,
  { teacher: { perGroup }, sampling: { promptsPerStep } }: TeacherSettings & { sampling: { promptsPerStep: number } },
  source: string,
): void {
  const covered = coveredTasks(tasks, pool, perGroup).length;
  if (covered >= promptsPerStep) return;
  const some = (known: DemonstrationPool['hacks']): number =>
    tasks.filter(({ problem }) => (known.get(problem.id)?.length ?? 0) >= perGroup).length;
  throw new UserError({
    call: `demonstrations of ${source}`,
    expected: `${perGroup} hacks of their own loophole and ${perGroup} solves (teacher.perGroup) for at least ${promptsPerStep} training problems (sampling.promptsPerStep)`,
    found: `both for ${covered} of ${tasks.length} problems; enough hacks for ${some(pool.hacks)}, enough solves for ${some(pool.solves)}`,
    fix: 'Make a larger pool (gq pool make, or teacher.makeProblems and teacher.makeSamples), or set teacher.perGroup or sampling.promptsPerStep lower.',
  });
}
