/** Evaluates checkpoints of a run: loads an adapter's tensors, sets the state, generates, grades, stores. */
import type { Judge } from '../env/judge.ts';
import type { Partition } from '../env/partition.ts';
import type { Policy } from '../grpo/policy.ts';
import type { SamplingSettings } from '../model/generate.ts';
import { loadCheckpoint } from '../run/checkpoint.ts';
import type { RunDirectory } from '../run/directory.ts';
import type { RunConfig } from '../run/schema.ts';
import type { Splits } from '../run/tasks.ts';
import type { ModelText } from '../run/text.ts';
import { evaluateTasks } from './evaluate.ts';
import { type EvaluationSet, evaluationTasks } from './sets.ts';
import { type Evaluation, type EvaluationState, EvaluationStore } from './store.ts';

export interface EvaluatorParts {
  readonly run: RunDirectory;
  readonly config: RunConfig;
  readonly policy: Policy;
  readonly judge: Judge;
  readonly splits: Splits;
  readonly partition: Partition;
  readonly text: ModelText;
}

export const evaluationSeed = 20_260;

export class RunEvaluator {
  readonly #parts: EvaluatorParts;
  readonly #store: EvaluationStore;
  #loaded: number | null = null;

  constructor(parts: EvaluatorParts) {
    this.#parts = parts;
    this.#store = new EvaluationStore(parts.run.path);
  }

  /** Split adapters have two states; vanilla and no-loophole deploy what they trained. */
  get states(): readonly EvaluationState[] {
    return this.#parts.policy.deployedScale === 1 ? ['trained'] : ['trained', 'deployed'];
  }

  async evaluate(update: number, set: EvaluationSet, state: EvaluationState): Promise<Evaluation> {
    const known = this.#store.find(update, set, state);
    if (known !== null) return known;
    const { config, splits, partition, text, policy, judge } = this.#parts;
    await this.#load(update);
    const tasks = evaluationTasks(set, config, splits, partition, text);
    const rows = await evaluateTasks(policy, tasks, judge, {
      seed: evaluationSeed,
      sampling: samplingOf(config, text),
      scale: scaleOf(state),
      decode: (tokens) => text.decode(tokens),
      readEvery: config.output.readEvery,
    });
    const evaluation = { update, set, state, seed: evaluationSeed, rows };
    await this.#store.save(evaluation);
    return evaluation;
  }

  async #load(update: number): Promise<void> {
    if (this.#loaded === update) return;
    const { state } = await loadCheckpoint(this.#parts.run, update);
    this.#parts.policy.adapter.load(state.adapter);
    this.#loaded = update;
  }
}

function scaleOf(state: EvaluationState): number | null {
  if (state === 'base') return null;
  if (state === 'trained') return 1;
  return state === 'deployed' ? 0 : Number(state.slice('scale-'.length));
}

function samplingOf({ sampling }: RunConfig, text: ModelText): SamplingSettings {
  const { temperature, topK, topP, minP, maxNewTokens, maxPromptTokens } = sampling;
  return { temperature, topK, topP, minP, maxNewTokens, maxPromptTokens, stopTokens: text.stopTokens };
}
