/** A viewer's log as a sink of training. It begins with the first update, in the folder `logs` of the run. */
import { join } from 'node:path';
import type { PhaseSeconds, RecordedEvent, RunDirectory, RunEnd, Sink } from '../../run/index.ts';
import { headOf } from './head.ts';
import { type MetricWriter, type OpenLog, stepMetrics } from './metrics.ts';
import { openTensorboard } from './tensorboard.ts';
import { openTrackio } from './trackio.ts';
import { openWandb } from './wandb.ts';

/** Logs of numbers over updates, by the name of their viewer. */
export const metricLogs = {
  tensorboard: openTensorboard,
  wandb: openWandb,
  trackio: openTrackio,
} as const satisfies Record<string, OpenLog>;
export type MetricLog = keyof typeof metricLogs;

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
    this.#writer ??= metricLogs[this.name](join(this.#run.path, 'logs', this.name), headOf(this.#run), update);
    this.#writer.write({ update, time: Date.now() / 1000, metrics: stepMetrics(event, seconds) });
  }

  flush(): void {
    this.#writer?.flush();
  }

  close(end: RunEnd | 'failed'): void {
    this.#writer?.close(end === 'finished');
  }
}
