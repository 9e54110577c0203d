export { runDaemon } from './daemon.ts';
export { type QueueEntry, QueueFolder, questionFacts, questionsAbout, queueFolder, queueVariable } from './folder.ts';
export { startDetached } from './launch.ts';
