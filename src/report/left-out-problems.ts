/** Says below a table of rates how many problems of its sets were left out of the evaluation, and why. */
import { describeLeftOutProblems } from '../env/sources/index.ts';
import { type EvaluationOutcomes, splitOf } from '../evaluate/index.ts';

/** One note for each way in which the evaluations left problems out; none where all were used. */
export function leftOutNotes(evaluations: readonly Pick<EvaluationOutcomes, 'set' | 'problems'>[]): string[] {
  const notes = evaluations.flatMap(({ set, problems }) => {
    const note = problems === null ? null : describeLeftOutProblems(splitOf(set), problems);
    return note === null ? [] : [`${note}.`];
  });
  return [...new Set(notes)];
}
