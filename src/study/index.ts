export { type Claim, claimOf, openBlind, readRegister, statedRuns } from './claim.ts';
export { armTable, begunRuns, everStated } from './claim-progress.ts';
export { describeSameBytes, expectFittingPlan, findExperiment, sharedRuns, writeExperiment } from './directory.ts';
export { WorkEstimate } from './estimate.ts';
export {
  checkExperiment,
  type ExperimentPlan,
  expectFilledSets,
  type PlannedRun,
  planExperiment,
  readExperiment,
  readSlurmTable,
} from './experiment.ts';
export type { Experiment } from './experiment-schema.ts';
export { expectDiskRoom, type Forecast, forecastDisk, forecastExperiment } from './forecast.ts';
export { type Report, type RunReport, runInProcesses } from './job.ts';
export { openResults } from './open-results.ts';
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
export { measuring } from './rates.ts';
export { type JobEnd, runPlan, runsLeft, trainedStatus } from './run.ts';
export { gpusFor, planSlots } from './slots.ts';
export { expectSlurm } from './slurm/client.ts';
export { cancelRuns, followRuns } from './slurm/follow.ts';
export { LogTail, lastLine } from './slurm/log-tail.ts';
export { readArrays, submitRuns, writeScript } from './slurm/submission.ts';
export { readPlan } from './stored-plan.ts';
export { LabWorker } from './worker.ts';
