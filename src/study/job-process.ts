/** The process of a run of an experiment, or of several in a pack. A message tells it what to do; it reports its progress and how it ended. */
import { explainUncaught } from '../base/node/index.ts';
import { keepSandboxes, onInterrupt } from '../lab/index.ts';
import type { JobMessage, JobStart, Report } from './job.ts';
import { failureText, runPlan } from './run.ts';
import { LabWorker } from './worker.ts';

/** A message that finds no parent any more is lost; without the callback it would end the process before the run is saved. */
const tell = (message: JobMessage): void => void process.send?.(message, undefined, undefined, () => undefined);

const reportOf =
  (index: number): Report =>
  (report) =>
    tell({ index, ...report });

/** Tells the last thing, and ends the process once it is told. */
const leave = (message: JobMessage): void => void process.send?.(message, () => process.exit(0));
const fail = (error: unknown): void => leave({ kind: 'failed', detail: failureText(error) });

for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => fail(explainUncaught(error)));
}

// The parent process is gone: save and stop, as after Ctrl-C.
process.on('disconnect', () => process.kill(process.pid, 'SIGINT'));

/** Does the runs; their sandbox is closed before anyone is told how the last one ended. */
async function work({ plan, indices, pack, neededMiB, directory }: JobStart): Promise<JobMessage> {
  const [first] = indices;
  await using _sandboxes = keepSandboxes();
  using interruption = onInterrupt(
    { write: (text) => reportOf(first)({ kind: 'warn', text: text.trim() }) },
    'saving every run',
  );
  const { signal } = interruption;
  let last: JobMessage = { kind: 'failed', detail: 'no run has ended' };
  await runPlan(plan, directory, {
    ...{ indices, size: pack, neededMiB, signal },
    workerOf: (index, place) => new LabWorker(reportOf(index), signal, place),
    onEnd: (index, end) => {
      last = { kind: 'end', index, ...end };
      tell(last);
    },
  });
  return last;
}

process.once('message', (start: JobStart) => void work(start).then(leave, fail));
