export { runDaemon } from './daemon.ts';
export { type QueueEntry, QueueFolder, questionsAbout, queueFolder, queueVariable } from './folder.ts';
export { startDetached } from './launch.ts';
