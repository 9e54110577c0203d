export { findExperiment, writeExperiment } from './directory.ts';
export { WorkEstimate } from './estimate.ts';
export { checkExperiment, type ExperimentPlan, planExperiment, readExperiment } from './experiment.ts';
export type { Experiment } from './experiment-schema.ts';
export { expectFilledSets } from './filled-sets.ts';
export { jobProgram, runJob, type WorkReports } from './job.ts';
export { LabWorker } from './lab-worker.ts';
export { attackConfig, expectFinished, exportDeployed, openAttacked } from './relearn.ts';
export { type ExperimentEnd, runExperiment, runSideBySide, trainedStatus } from './run-experiment.ts';
