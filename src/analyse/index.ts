/** A run's rollouts with their verdicts, and its steps. */
export {
  groupBy,
  type JudgedRollout,
  type RolloutOutcome,
  type RunStatus,
  readCourse,
  readJudged,
  readOutcomes,
  readStatus,
  readSteps,
} from './judged.ts';
