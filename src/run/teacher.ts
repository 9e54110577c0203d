/** Whether a run has a teacher phase, and which rows of its ledgers are demonstrations. */
import { isDemonstration } from '../grpo/teacher.ts';
import type { RunConfig } from './config/schema.ts';

/** A run has demonstrations from a pool that exists, or from one that it makes for itself. */
export function hasTeacher({ teacher }: Pick<RunConfig, 'teacher'>): boolean {
  return teacher.pool !== null || teacher.makeProblems > 0;
}

/** Tells by the id of a rollout and the loophole it was graded with whether it is a demonstration. */
export type DemonstrationTest = (id: string, loophole: string) => boolean;

export function demonstrationTest(config: RunConfig): DemonstrationTest {
  return (id, loophole) => hasTeacher(config) && isDemonstration(config, id, loophole !== 'gt_only');
}
