export { claimOf, openBlind, readRegister, statedRuns } from './claim.ts';
export { type BegunRun, begunRuns, everStated } from './claim-progress.ts';
export { findExperiment, writeExperiment } from './directory.ts';
export { EndedRuns } from './ended-runs.ts';
export { WorkEstimate } from './estimate.ts';
export { checkExperiment, type ExperimentPlan, planExperiment, readExperiment, readSlurmTable } from './experiment.ts';
export type { Experiment } from './experiment-schema.ts';
export { expectFilledSets } from './filled-sets.ts';
export { jobProgram, runJob, type WorkReports } from './job.ts';
export { LabWorker } from './lab-worker.ts';
export { openRecords, openResults } from './open-results.ts';
export { runDaemon } from './queue/daemon.ts';
export {
  type QueueEntry,
  QueueFolder,
  questionFacts,
  questionsAbout,
  queueFolder,
  queueVariable,
} from './queue/folder.ts';
export { startDetached } from './queue/launch.ts';
export {
  type ExperimentEnd,
  type FailedRun,
  type JobEnd,
  runExperiment,
  runOne,
  runPacked,
  runSideBySide,
  trainedStatus,
} from './run-experiment.ts';
export { describeSameBytes } from './same-bytes.ts';
export { expectSlurm } from './slurm/client.ts';
export { cancelRuns, followRuns } from './slurm/follow.ts';
export { LogTail, lastLine } from './slurm/log-tail.ts';
export { readArrays, submitRuns, writeScript } from './slurm/submission.ts';
export { readPlan } from './stored-plan.ts';
export { runsLeft } from './work-left.ts';
