/** How an experiment's runs are trained and evaluated here: in this process, one after another, shown as a running picture. */

import { join } from 'node:path';
import { curveNames, evaluateAll, finalNames, lastCheckpoint } from '../evaluate/plan.ts';
import { statesOf } from '../evaluate/run-evaluator.ts';
import { EvaluationStore } from '../evaluate/store.ts';
import { RunDirectory } from '../run/directory.ts';
import { WorkEstimate } from '../sweep/estimate.ts';
import type { EvaluationPlan, ExperimentPlan, PlannedRun } from '../sweep/experiment.ts';
import type { ExperimentWorker } from '../sweep/run-experiment.ts';
import { Resources } from './assemble.ts';
import type { CommandContext } from './command.ts';
import { LivePicture } from './live-picture.ts';
import { openRun } from './open-run.ts';
import { trainPlanned } from './train-planned.ts';
import { VerdictTail } from './verdict-tail.ts';

const silent = { write: () => true };

export class LabWorker implements ExperimentWorker {
  readonly #runs: readonly PlannedRun[];
  readonly #arms: number;
  readonly #picture: LivePicture;
  readonly #estimate = new WorkEstimate();
  #index = 0;

  constructor({ runs, experiment }: ExperimentPlan, { stderr }: CommandContext) {
    this.#runs = runs;
    this.#arms = experiment.arms.length;
    this.#picture = new LivePicture(stderr);
  }

  onRun({ seed }: PlannedRun, index: number, total: number): void {
    this.#index = index;
    if (index % this.#arms > 0) return;
    const block = this.#runs.slice(index, index + this.#arms);
    const lines = block.map(({ arm, config }) => ({ name: arm, updates: config.updates }));
    this.#picture.begin(`seed ${seed}: runs ${index + 1} to ${index + block.length} of ${total}`, lines);
  }

  get #line(): number {
    return this.#index % this.#arms;
  }

  async train({ config }: PlannedRun, path: string): Promise<'finished' | 'tripwire' | 'interrupted'> {
    this.#picture.note(this.#line, 'loading');
    const tail = new VerdictTail(join(path, 'verdicts.jsonl'));
    let before = performance.now();
    return trainPlanned(config, path, {
      stdout: silent,
      stderr: { write: (text) => this.#warn(text) },
      json: false,
      onEvent: (event) => {
        if (event.kind !== 'step') return;
        this.#estimate.addTraining(1, (performance.now() - before) / 1000);
        before = performance.now();
        this.#picture.step(this.#line, event.update, tail.read(), this.#secondsLeft(event.update));
      },
    });
  }

  /** Warnings of single updates are in the run's events; here they would bury the picture. */
  #warn(text: string): void {
    if (!/^update \d+: /.test(text)) this.#picture.say(text.trim());
  }

  #secondsLeft(update: number): number | null {
    const later = this.#runs.slice(this.#index + 1).reduce((sum, { config }) => sum + config.updates, 0);
    const own = this.#runs[this.#index].config.updates;
    return this.#estimate.secondsLeft(own - update + later, own + later);
  }

  async evaluate(
    { config }: PlannedRun,
    path: string,
    plan: EvaluationPlan,
    siblings: readonly string[],
  ): Promise<void> {
    const started = performance.now();
    const run = RunDirectory.open(path);
    const update = lastCheckpoint(run);
    const states = statesOf(config);
    const names = [
      ...finalNames(states, { update, sets: plan.sets, scales: plan.scales, limit: plan.limit }),
      ...(plan.curveEvery === 0 ? [] : curveNames(states, run.checkpoints, plan.curveEvery)),
    ];
    const store = new EvaluationStore(path);
    const missing = names.filter((name) => !store.has(name));
    if (missing.length > 0) {
      this.#picture.note(this.#line, `evaluating ${missing.length} times`);
      await using resources = new Resources();
      const { evaluator } = await openRun(path, resources, { siblings });
      await evaluateAll(evaluator, missing);
    }
    this.#estimate.addEvaluation(config.updates, (performance.now() - started) / 1000);
    this.#picture.note(this.#line, `done after ${update} updates`);
  }
}
