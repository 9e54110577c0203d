/** A run's numbers and samples in the formats of other viewers: as a sink of training, and from a stored run, finished or running. */
import { join } from 'node:path';
import { UserError } from '../../base/index.ts';
import type { PhaseSeconds, RecordedEvent, RunDirectory, RunEnd, Sink } from '../../run/index.ts';
import { evaluationLogs, rolloutLogs, writeInspect } from './inspect.ts';
import { headOf, type MetricWriter, type OpenLog, readPoints, stepMetrics } from './points.ts';
import { openTensorboard } from './tensorboard.ts';
import { openTrackio } from './trackio.ts';
import { openWandb } from './wandb.ts';

export const metricLogs = {
  tensorboard: openTensorboard,
  wandb: openWandb,
  trackio: openTrackio,
} as const satisfies Record<string, OpenLog>;
export type MetricLog = keyof typeof metricLogs;

/** A log as a sink of training. It begins with the first update, in the folder `logs` of the run. */
export class LogSink implements Sink {
  readonly name: MetricLog;
  readonly #run: RunDirectory;
  #writer: MetricWriter | null = null;

  constructor(name: MetricLog, run: RunDirectory) {
    this.name = name;
    this.#run = run;
  }

  event(event: RecordedEvent, seconds: PhaseSeconds): void {
    if (event.kind !== 'step') return;
    const { update } = event;
    this.#writer ??= metricLogs[this.name](logFolder(this.#run, this.name), headOf(this.#run), update);
    this.#writer.write({ update, time: Date.now() / 1000, metrics: stepMetrics(event, seconds) });
  }

  flush(): void {
    this.#writer?.flush();
  }

  close(end: RunEnd | 'failed'): void {
    this.#writer?.close(end === 'finished');
  }
}

export const logFormats = ['tensorboard', 'wandb', 'trackio', 'inspect'] as const;
export type LogFormat = (typeof logFormats)[number];

export async function exportMetrics(run: RunDirectory, format: MetricLog, folder: string) {
  const points = await readPoints(run);
  expectSome(run, points.length, 'an update');
  const writer = metricLogs[format](folder, headOf(run), points[0].update);
  for (const point of points) writer.write(point);
  writer.flush();
  writer.close(run.isSealed());
  return { path: folder, count: points.length };
}

/** `updates`: those whose rollouts are written; null: the last one. */
export async function exportInspect(run: RunDirectory, folder: string, updates: readonly number[] | null) {
  const head = headOf(run);
  const logs = [...evaluationLogs(run), ...(await rolloutLogs(run, updates))];
  expectSome(run, logs.length, 'an evaluation or an update');
  for (const log of logs) await writeInspect(folder, head, log);
  return { path: folder, count: logs.length };
}

function expectSome(run: RunDirectory, count: number, what: string): void {
  if (count > 0) return;
  throw new UserError({ call: `export the log of ${run.path}`, expected: `${what} in it`, found: 'none yet' });
}

export const logFolder = (run: RunDirectory, format: LogFormat): string => join(run.path, 'logs', format);
