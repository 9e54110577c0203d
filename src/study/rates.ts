/**
 * What runs cost on this machine, measured by earlier ones: seconds of an update and of an evaluation, bytes of ledgers on disk, memory of a
 * process. Kept in the user's state, a file for each shape of run, the last measurement of it. A guess for whoever plans; nothing else reads it.
 */
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { bytesIn, makeFolder, sha256Json, stateFolder, writeFileAtomic } from '../base/node/index.ts';
import { isInterpreted, type RunConfig, RunDirectory, readStored, readTimings } from '../run/index.ts';
import type { Report } from './job.ts';

const rateSchema = z.object({
  format: z.literal(1),
  at: z.string(),
  /** Runs that worked side by side when it was measured: seconds are those that each of them took. */
  atATime: z.number().int().min(1),
  updateSeconds: z.number().positive(),
  evaluationSeconds: z.number().min(0),
  /** Of ledgers: checkpoints are known from the config. */
  ledgerBytesPerUpdate: z.number().min(0),
  /** Of all evaluations of a run, which has nearly as many however long it is. */
  evaluationBytes: z.number().min(0).default(0),
  /** Of the whole process, with all runs that it worked on. */
  processBytes: z.number().min(0),
});
export type RunRate = Readonly<z.infer<typeof rateSchema>>;

/** All that the cost of a run follows from, roughly; `pack`: the runs that share its process. */
function rateFile(config: RunConfig, pack: number): string {
  const { model, data, device, sampling, adapter, arm, compute, loss, environment } = config;
  const { promptsPerStep, group, maxNewTokens } = sampling;
  const { kind, granularity, monitor } = arm;
  const shape = {
    ...{ model, data, compute, pack, promptsPerStep, group, maxNewTokens, rank: adapter.rank },
    ...{ arm: kind, granularity, monitor: Object(monitor).kind, features: Object(monitor).features },
    ...{ device: device.kind, precision: device.precision, epochs: loss.epochs },
    ...{ sandbox: environment.sandbox, interpreter: isInterpreted(config) },
  };
  return join(stateFolder('rates'), `${sha256Json({ ...shape, host: hostname() }).slice(0, 24)}.json`);
}

/** Null where no run of this shape was measured here, or where what was kept cannot be read. */
export function readRate(config: RunConfig, pack: number): RunRate | null {
  const path = rateFile(config, pack);
  if (!existsSync(path)) return null;
  try {
    return readStored(path, 'the rate of runs', rateSchema);
  } catch {
    return null;
  }
}

export interface MeasuredRun {
  readonly config: RunConfig;
  readonly path: string;
  readonly atATime: number;
  readonly pack: number;
}

export function measuring(run: MeasuredRun, report: Report): Report {
  const seconds: number[] = [];
  return (told) => {
    report(told);
    if (told.kind === 'step') seconds.push(told.seconds);
    if (told.kind !== 'evaluated' || told.made === 0) return;
    void storeRate(run, seconds, {
      format: 1,
      at: new Date().toISOString(),
      atATime: run.atATime,
      evaluationSeconds: told.seconds / told.made,
      ledgerBytesPerUpdate: bytesIn(run.path, isLedger) / run.config.updates,
      evaluationBytes: bytesIn(run.path, isEvaluation),
      processBytes: told.processBytes,
    });
  };
}

/** What cannot be kept is not known next time, nothing else. */
async function storeRate(
  { config, pack, path }: MeasuredRun,
  own: readonly number[],
  rest: Omit<RunRate, 'updateSeconds'>,
): Promise<void> {
  try {
    // Of a run whose updates an earlier process made, its files have them.
    const seconds = own.length > 0 ? own : await readTimings(RunDirectory.open(path));
    if (seconds.length === 0) return;
    // The first update has what was loaded before it.
    const steady = seconds.length > 1 ? seconds.slice(1) : seconds;
    const rate = { ...rest, updateSeconds: steady.reduce((sum, each) => sum + each, 0) / steady.length };
    makeFolder(stateFolder('rates'));
    await writeFileAtomic(rateFile(config, pack), `${JSON.stringify(rate, null, 1)}\n`);
  } catch {
    return;
  }
}

/** Checkpoints and the initial values follow from the config. */
const isLedger = (file: string): boolean =>
  !file.startsWith('checkpoints') && file !== 'initial.safetensors' && !isEvaluation(file);

const isEvaluation = (file: string): boolean => file.startsWith('evaluations');

/** Until a run has been evaluated, evaluation is assumed to take this share of the training time. */
const assumedShare = 0.3;

export class WorkEstimate {
  readonly #now: () => number;
  readonly #started: number;
  #trained = 0;
  #trainSeconds = 0;
  #evaluated = 0;
  #evaluateSeconds = 0;

  constructor(now: () => number = () => performance.now() / 1000) {
    this.#now = now;
    this.#started = now();
  }

  get updatesPerSecond(): number {
    return this.#trained / (this.#now() - this.#started);
  }

  addTraining(updates: number, seconds: number): void {
    this.#trained += updates;
    this.#trainSeconds += seconds;
  }

  addEvaluation(updates: number, seconds: number): void {
    this.#evaluated += updates;
    this.#evaluateSeconds += seconds;
  }

  secondsLeft(updatesLeft: number, updatesToEvaluate: number): number | null {
    if (this.#trained === 0) return null;
    const perUpdate = this.#trainSeconds / this.#trained;
    const perEvaluated = this.#evaluated === 0 ? assumedShare * perUpdate : this.#evaluateSeconds / this.#evaluated;
    return updatesLeft * perUpdate + updatesToEvaluate * perEvaluated;
  }
}
