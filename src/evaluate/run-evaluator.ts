/** Evaluates checkpoints of a run: loads an adapter's tensors, sets the state, generates, grades, stores. */
import { UserError } from '../base/index.ts';
import { expectWritable } from '../base/node/index.ts';
import type { Judge } from '../env/index.ts';
import type { ProblemUse, SplitUse } from '../env/sources/index.ts';
import { type Policy, type Sampler, samplingSettings, type Task } from '../grpo/index.ts';
import { loadAdapter } from '../run/checkpoint.ts';
import type { InstructionWords, RunDirectory } from '../run/index.ts';
import { chooseCurveSet } from './curve.ts';
import { evaluateTasks, evaluationKey, evaluationSeed, type ProbedTask } from './evaluate.ts';
import type { ProbedPolicy } from './probe.ts';
import { type EvaluationSet, evaluationTasks, expectFilled, promptSeed, type SetContext, splitOf } from './sets.ts';
import { type Evaluation, type EvaluationName, type EvaluationRow, EvaluationStore, SampleStore } from './store.ts';

export interface EvaluatorParts extends SetContext {
  readonly run: RunDirectory;
  readonly policy: Policy;
  readonly judge: Judge;
  readonly sampler: Sampler;
  readonly use: SplitUse;
  readonly inWords: boolean;
  readonly siblings?: readonly string[];
  /** Rows that decode together. */
  readonly batch?: number | undefined;
}

/** Where the evaluation of a name is kept. */
export const storeOf = (path: string, { sample }: EvaluationName): EvaluationStore | SampleStore =>
  sample === undefined ? new EvaluationStore(path) : new SampleStore(path);

const turns = new Map<string, Promise<unknown>>();

/** Works of one key are done one after another: what one of several runs in a process makes of its base, the next ones borrow. */
async function inTurn<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
  const before = turns.get(key) ?? Promise.resolve();
  const own = before.then(work, work);
  turns.set(key, own);
  try {
    return await own;
  } finally {
    if (turns.get(key) === own) turns.delete(key);
  }
}

export class RunEvaluator implements ProbedPolicy {
  readonly #parts: EvaluatorParts;
  readonly #store: EvaluationStore;
  readonly key: string;
  readonly #tasks = new Map<string, readonly Task[]>();
  #loaded: number | null = null;

  constructor(parts: EvaluatorParts) {
    this.#parts = parts;
    this.#store = new EvaluationStore(parts.run.path);
    this.key = evaluationKey(parts.run.readManifest());
  }

  get run(): RunDirectory {
    return this.#parts.run;
  }

  get path(): string {
    return this.run.path;
  }

  get words(): InstructionWords {
    const { text, loopholes, inWords } = this.#parts;
    return { text, loopholes, inWords };
  }

  problemsOf(set: EvaluationSet): ProblemUse {
    return this.#parts.use[splitOf(set)];
  }

  async evaluate(asked: EvaluationName, onProgress?: (done: number) => void): Promise<Evaluation> {
    const name = asked.state === 'base' ? { ...asked, update: 0 } : asked;
    const known = storeOf(this.path, name).find(name);
    if (known !== null) return known;
    const make = () => this.#make(name, onProgress);
    return name.state === 'base' ? inTurn(`${this.key} ${JSON.stringify(name)}`, make) : make();
  }

  async #make(name: EvaluationName, onProgress?: (done: number) => void): Promise<Evaluation> {
    const borrowed = this.#borrow(name);
    if (borrowed !== null) {
      await storeOf(this.path, name).save(borrowed);
      return borrowed;
    }
    const rows = await this.complete(await this.tasks(name.set, name.limit), name, onProgress);
    const problems = this.problemsOf(name.set);
    const evaluation = { ...name, seed: evaluationSeed, key: this.key, problems, rows };
    await storeOf(this.path, name).save(evaluation);
    return evaluation;
  }

  /** Refuses, before anything is computed, evaluations of sets without prompts and of checkpoints that the run does not have. */
  expectPossible(names: readonly EvaluationName[]): void {
    const { run, splits } = this.#parts;
    const checkpoints = run.listCheckpoints();
    const call = `evaluate ${run.path}`;
    this.#expectSameRule();
    if (names.some((name) => !storeOf(this.path, name).has(name))) expectWritable(call, run.path);
    const sets = names.map(({ set }) => set);
    expectFilled(call, sets, splits);
    for (const { state, update } of names) {
      if (state === 'base' || checkpoints.includes(update)) continue;
      throw new UserError({
        call,
        expected: `the update of one of its checkpoints: ${checkpoints.join(', ') || 'none yet'}`,
        found: `${update}`,
      });
    }
  }

  /** Refuses to add to evaluations whose samples were drawn by another rule: prompts could not be compared one by one. */
  #expectSameRule(): void {
    const { path } = this.#parts.run;
    const other = this.#store.all().find(({ seed }) => seed !== evaluationSeed);
    if (other === undefined) return;
    throw new UserError({
      call: `evaluate ${path}`,
      expected: `evaluations whose samples are drawn by problem (seed ${evaluationSeed})`,
      found: `${other.set} at update ${other.update} with seed ${other.seed}, of an earlier version`,
      fix: `They can still be read. To evaluate anew, move ${path}/evaluations away.`,
    });
  }

  #borrow(name: EvaluationName): Evaluation | null {
    if (name.state !== 'base') return null;
    for (const path of this.#parts.siblings ?? []) {
      const found = storeOf(path, name).find(name);
      if (found?.key === this.key) return found;
    }
    return null;
  }

  async complete(
    tasks: readonly ProbedTask[],
    { update, state, sample }: Pick<EvaluationName, 'update' | 'state' | 'sample'>,
    onProgress?: (done: number) => void,
  ): Promise<EvaluationRow[]> {
    const { config, judge, sampler, text, batch } = this.#parts;
    if (state !== 'base') await this.#load(update);
    return evaluateTasks(sampler, tasks, judge, {
      seed: evaluationSeed,
      sampling: samplingSettings(config.sampling, text.stopTokens),
      ...{ state, sample, batch, text },
      ...(onProgress === undefined ? {} : { onProgress }),
    });
  }

  async tasks(set: EvaluationSet, limit: number | null): Promise<readonly Task[]> {
    const key = `${set} ${limit}`;
    const known = this.#tasks.get(key);
    if (known !== undefined) return known;
    const tasks = evaluationTasks(set, { ...this.#parts, curveIds: await this.#partIds(set) }, limit);
    this.#tasks.set(key, tasks);
    return tasks;
  }

  /** The problems of a set that is a part of another, chosen by what the base does there. */
  async #partIds(set: EvaluationSet): Promise<readonly string[]> {
    if (set === 'monitor') {
      const { rows } = await this.evaluate({ update: 0, set: 'test-original', state: 'base', limit: null });
      return chooseCurveSet(rows, promptSeed).ids;
    }
    if (set !== 'curve') return [];
    const frozen = this.#store.curveChoice();
    if (frozen !== null) return frozen.ids;
    const { rows } = await this.evaluate({ update: 0, set: 'validation', state: 'base', limit: null });
    const choice = chooseCurveSet(rows, promptSeed);
    await this.#store.saveCurveChoice(choice);
    return choice.ids;
  }

  async #load(update: number): Promise<void> {
    if (this.#loaded === update) return;
    this.#parts.policy.adapter.load(await loadAdapter(this.#parts.run, update));
    this.#loaded = update;
  }
}
