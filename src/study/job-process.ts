/** The process of a run of an experiment, or of several in a pack. A message tells it what to do; it reports its progress and how it ended. */
import { explainUncaught } from '../base/node/index.ts';
import { keepSandboxes, onInterrupt } from '../lab/index.ts';
import { userErrorOf } from '../run/index.ts';
import type { JobMessage, JobStart, WorkReports } from './job.ts';
import { LabWorker } from './lab-worker.ts';
import { runOne, runPacked } from './run-experiment.ts';

/** A message that finds no parent any more is lost; without the callback it would end the process before the run is saved. */
const tell = (message: JobMessage): void => void process.send?.(message, undefined, undefined, () => undefined);

const reportsOf = (index: number): WorkReports => ({
  note: (text) => tell({ kind: 'note', index, text }),
  warn: (text) => tell({ kind: 'warn', index, text }),
  step: (update, seconds) => tell({ kind: 'step', index, update, seconds }),
  evaluated: (seconds) => tell({ kind: 'evaluated', index, seconds }),
});

/** Tells the last thing, and ends the process once it is told. */
const leave = (message: JobMessage): void => void process.send?.(message, () => process.exit(0));

function failure(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return userErrorOf(error)?.message ?? stack;
}

for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => leave({ kind: 'failed', detail: failure(explainUncaught(error)) }));
}

// The parent process is gone: save and stop, as after Ctrl-C.
process.on('disconnect', () => process.kill(process.pid, 'SIGINT'));

/** Does the runs; their sandbox is closed before anyone is told how the last one ended. */
async function work({ plan, indices, pack, directory }: JobStart): Promise<JobMessage> {
  const [first] = indices;
  await using _sandboxes = keepSandboxes();
  if (indices.length === 1) {
    const end = await runOne(plan, first, directory, new LabWorker(reportsOf(first)));
    return { kind: 'end', index: first, end, detail: '' };
  }
  using interruption = onInterrupt({ write: (text) => reportsOf(first).warn(text.trim()) }, 'saving every run');
  const { signal } = interruption;
  let last: JobMessage = { kind: 'failed', detail: 'no run has ended' };
  await runPacked(plan, directory, {
    ...{ indices, size: pack, signal },
    workerOf: (index, place) => new LabWorker(reportsOf(index), { place, signal }),
    onEnd: (index, end) => {
      last = { kind: 'end', index, ...end };
      tell(last);
    },
  });
  return last;
}

process.once('message', async (start: JobStart) => {
  leave(await work(start).catch((error: unknown): JobMessage => ({ kind: 'failed', detail: failure(error) })));
});
