// What the host sees of the kernels.
export { MOST_ROWS, MOST_SIZE } from './attention';
export { allowSleep, countSleepers, reportFailure, runAlone, runJob, stopWorkers, workerLoop } from './dispatch';
export { Job } from './jobs';
export { ARGUMENTS, SHARED_SCRATCH, SHARED_SCRATCH_BYTES, THREAD_SCRATCH, THREAD_SCRATCH_BYTES } from './layout';
export { TILE_COLUMNS, TILE_ROWS } from './tile';
