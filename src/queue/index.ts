export { runDaemon } from './daemon.ts';
export { type QueueEntry, QueueFolder, queueFolder, queueVariable } from './folder.ts';
export { startDetached } from './launch.ts';
