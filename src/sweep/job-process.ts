/** The process of one run of an experiment. A message tells it what to do; it reports its progress and how it ended. */
import { explainUncaught } from '../base/node/index.ts';
import { keepSandboxes } from '../lab/index.ts';
import { userErrorOf } from '../run/index.ts';
import type { JobMessage, JobStart, WorkReports } from './job.ts';
import { LabWorker } from './lab-worker.ts';
import { runOne } from './run-experiment.ts';

/** A message that finds no parent any more is lost; without the callback it would end the process before the run is saved. */
const tell = (message: JobMessage): void => void process.send?.(message, undefined, undefined, () => undefined);

const reports: WorkReports = {
  note: (text) => tell({ kind: 'note', text }),
  warn: (text) => tell({ kind: 'warn', text }),
  step: (update, seconds) => tell({ kind: 'step', update, seconds }),
  evaluated: (seconds) => tell({ kind: 'evaluated', seconds }),
};

const leave = (end: JobMessage): void => void process.send?.(end, () => process.exit(0));

function failure(error: unknown): JobMessage {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: 'end', end: 'failed', detail: userErrorOf(error)?.message ?? stack };
}

for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => leave(failure(explainUncaught(error))));
}

// The parent process is gone: save and stop, as after Ctrl-C.
process.on('disconnect', () => process.kill(process.pid, 'SIGINT'));

/** Does the run; its sandbox is closed before anyone is told how it ended. */
async function work({ plan, index, directory }: JobStart): Promise<JobMessage> {
  await using _sandboxes = keepSandboxes();
  return { kind: 'end', end: await runOne(plan, index, directory, new LabWorker(reports)), detail: '' };
}

process.once('message', async (start: JobStart) => leave(await work(start).catch(failure)));
