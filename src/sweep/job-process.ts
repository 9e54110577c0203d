/** The process of one run of an experiment. A message tells it what to do; it reports its progress and how it ended. */
import { userErrorOf } from '../run/index.ts';
import type { JobMessage, JobStart, WorkReports } from './job.ts';
import { LabWorker } from './lab-worker.ts';
import { runOne } from './run-experiment.ts';

const tell = (message: JobMessage): void => void process.send?.(message);

const reports: WorkReports = {
  note: (text) => tell({ kind: 'note', text }),
  warn: (text) => tell({ kind: 'warn', text }),
  step: (update, seconds) => tell({ kind: 'step', update, seconds }),
  evaluated: (seconds) => tell({ kind: 'evaluated', seconds }),
};

// The parent process is gone: save and stop, as after Ctrl-C.
process.on('disconnect', () => process.kill(process.pid, 'SIGINT'));

process.once('message', async ({ plan, index, directory }: JobStart) => {
  let end: JobMessage;
  try {
    end = { kind: 'end', end: await runOne(plan, index, directory, new LabWorker(reports)), detail: '' };
  } catch (error) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const detail = userErrorOf(error)?.message ?? stack;
    end = { kind: 'end', end: 'failed', detail };
  }
  process.send?.(end, () => process.exit(0));
});
