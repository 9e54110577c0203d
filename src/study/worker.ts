/** Trains and evaluates a run of an experiment in this process. It only reports; its caller shows the reports. */
import { resolve } from 'node:path';
import { lastCheckpoint, writeCurve } from '../evaluate/index.ts';
import { evaluateAll } from '../evaluate/run-evaluator.ts';
import type { Lab, PackPlace, Warn } from '../lab/index.ts';
import { openEvaluator, openTrained, parseRunConfig, train, wasAsked } from '../lab/index.ts';
import { relearnFolders } from '../measure/index.ts';
import { attackConfig, expectUpdates, exportDeployed, openAttacked } from '../measure/relearn/attack.ts';
import type { EvaluationPlan } from '../report/experiment-schema.ts';
import type { RunEnd, Sink } from '../run/index.ts';
import { isOfOneUpdate, isRun, noticeText, outcomesKnown, RunDirectory, trainedStatus } from '../run/index.ts';
import type { PlannedRun } from './experiment.ts';
import type { Report } from './job.ts';
import { type ExperimentWorker, evaluationsLeft } from './run.ts';

export class LabWorker implements ExperimentWorker {
  readonly #report: Report;
  readonly #signal: AbortSignal;
  readonly #place: PackPlace | null;

  /** `signal` asks it to save and stop; `place` is the run's own in a pack. */
  constructor(report: Report, signal: AbortSignal, place: PackPlace | null = null) {
    this.#report = report;
    this.#signal = signal;
    this.#place = place;
  }

  async train(
    { config }: PlannedRun,
    path: string,
    start: Parameters<ExperimentWorker['train']>[2] = {},
  ): Promise<RunEnd> {
    this.#report({ kind: 'note', text: 'loading' });
    // A run that has begun goes on with its own config, and the plan was compared with it.
    const own = isRun(path) ? RunDirectory.open(path).readManifest().config : await parseRunConfig(config);
    const { end } = await train(own, path, {
      sinks: [this.#sink()],
      signal: this.#signal,
      place: this.#place ?? undefined,
      ...start,
    });
    return end;
  }

  /** Warnings about single updates are left out, because they would fill the screen; the run's events have them. */
  #sink(): Sink {
    let before = performance.now();
    return {
      name: 'reports of the experiment',
      event: (event) => {
        const text = isOfOneUpdate(event) ? null : noticeText(event);
        if (text !== null) this.#report({ kind: 'warn', text: text });
        if (event.kind !== 'step') return;
        const now = performance.now();
        this.#report({ kind: 'step', update: event.update, seconds: (now - before) / 1000 });
        before = now;
      },
    };
  }

  async evaluate(
    _run: PlannedRun,
    path: string,
    plan: EvaluationPlan,
    siblings: readonly string[],
  ): Promise<'finished' | 'interrupted'> {
    const started = performance.now();
    const trained = RunDirectory.open(path);
    if (!outcomesKnown(trained.readManifest())) {
      this.#report({ kind: 'warn', text: 'not evaluated: its environment told rewards alone' });
      return 'finished';
    }
    const update = lastCheckpoint(trained);
    const missing = evaluationsLeft(path, plan);
    if (missing.length > 0) {
      this.#report({ kind: 'note', text: `making ${missing.length} evaluations` });
      const signal = this.#signal;
      await using lab = await this.#openTrained(path);
      const end = await openEvaluator(lab, siblings)
        .then(async (evaluator) => (await evaluateAll(evaluator, missing, { signal })).end)
        .catch((error: unknown) => {
          if (wasAsked(signal, error)) return 'interrupted' as const;
          throw error;
        });
      if (end === 'interrupted') return end;
    }
    if (plan.curveEvery > 0) await writeCurve(path, 'curve');
    const seconds = (performance.now() - started) / 1000;
    const processBytes = process.memoryUsage.rss();
    this.#report({ kind: 'evaluated', seconds, made: missing.length, processBytes });
    this.#report({ kind: 'note', text: `done after ${update} updates` });
    return 'finished';
  }

  async #openTrained(path: string): Promise<Lab> {
    const warn: Warn = ({ message }) => this.#report({ kind: 'warn', text: message });
    return openTrained(path, { signal: this.#signal, warn, place: this.#place ?? undefined });
  }

  async relearn(_run: PlannedRun, path: string, updates: number | null): Promise<'finished' | 'interrupted'> {
    const folders = relearnFolders(resolve(path));
    const call = `relearning from ${path}`;
    const run = openAttacked(path, call);
    const config = attackConfig(run.readManifest().config, updates);
    if ((await trainedStatus(folders.attack)) !== null) {
      expectUpdates(folders.attack, config.updates, call);
      return 'finished';
    }
    this.#report({ kind: 'note', text: 'writing the deployed model' });
    const model = await exportDeployed(run, folders.deployed, call);
    const options = { sinks: [this.#attackSink()], signal: this.#signal };
    const { end } = await train(await parseRunConfig({ ...config, model }), folders.attack, options);
    if (end === 'interrupted') return end;
    this.#report({ kind: 'note', text: `relearning attack of ${config.updates} updates done` });
    return 'finished';
  }

  #attackSink(): Sink {
    return {
      name: 'reports of the attack',
      event: (event) => {
        if (event.kind === 'step') this.#report({ kind: 'note', text: `relearning, update ${event.update}` });
      },
    };
  }
}
