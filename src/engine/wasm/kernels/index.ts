// What the host sees of the kernels.
export { MOST_ROWS, MOST_SIZE } from './attention';
export { allowSleep, awaitJobs, countSleepers, hasStalled, publish, reportFailure, runAlone, stopWorkers, workerLoop } from './dispatch';
export { Job } from './jobs';
export { ARGUMENTS, ARGUMENTS_BYTES, SLOTS, SHARED_SCRATCH, SHARED_SCRATCH_BYTES, THREAD_SCRATCH, THREAD_SCRATCH_BYTES } from './layout';
export { TILE_COLUMNS, TILE_ROWS } from './tile';
