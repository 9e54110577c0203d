/** Evaluates checkpoints of a run: loads an adapter's tensors, sets the state, generates, grades, stores. */
import { UserError } from '../base/index.ts';
import { expectWritable } from '../base/node/index.ts';
import type { Judge } from '../env/index.ts';
import type { ReadsWords } from '../env/instructions.ts';
import type { ProblemUse, SplitUse } from '../env/sources/index.ts';
import { type Policy, type Sampler, samplingSettings, type Task } from '../grpo/index.ts';
import { loadAdapter } from '../run/checkpoint.ts';
import type { InstructionWords, RunDirectory } from '../run/index.ts';
import { chooseCurveSet } from './curve.ts';
import { evaluateTasks, evaluationKey, evaluationSeed, type ProbedTask } from './evaluate.ts';
import type { EvaluationSet, SetContext } from './sets.ts';
import { evaluationTasks, expectFilled, probedTask, promptSeed, splitOf } from './sets.ts';
import { type Evaluation, type EvaluationName, type EvaluationRow, EvaluationStore } from './store.ts';

export interface EvaluatorParts extends SetContext {
  readonly run: RunDirectory;
  readonly policy: Policy;
  readonly judge: Judge;
  readonly sampler: Sampler;
  readonly use: SplitUse;
  readonly inWords: ReadsWords;
  readonly siblings?: readonly string[];
  /** Rows that decode together. */
  readonly batch?: number | undefined;
}

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

/** A policy that can be asked: of a run, or the base of a recipe. */
export interface AskedPolicy {
  readonly path: string;
  /** Runs that may have evaluations of the same base. */
  readonly siblings?: readonly string[];
  readonly key: string;
  /** Hash of the config of the run whose checkpoints are asked. */
  readonly trained?: string;
  readonly words: InstructionWords;
  tasks(set: EvaluationSet, limit: number | null): Promise<readonly Task[]>;
  problemsOf(set: EvaluationSet): ProblemUse;
  complete(
    tasks: readonly ProbedTask[],
    at: Pick<EvaluationName, 'update' | 'state' | 'sample'>,
    onProgress?: (done: number) => void,
  ): Promise<EvaluationRow[]>;
  /** Refuses, before anything is computed, what cannot be asked. */
  expectPossible?(names: readonly EvaluationName[]): void;
}

export interface EvaluateAllOptions {
  readonly onProgress?: (done: number) => void;
  /** Stops the evaluations; it is checked between two of them, and finished ones are stored. */
  readonly signal?: AbortSignal;
}

export async function evaluateAll<Name extends EvaluationName>(
  policy: AskedPolicy,
  names: readonly Name[],
  { onProgress, signal }: EvaluateAllOptions = {},
) {
  policy.expectPossible?.(names);
  const evaluations: (Evaluation & Name)[] = [];
  for (const name of names) {
    if (signal?.aborted) return { end: 'interrupted' as const, evaluations };
    evaluations.push(await evaluateOne(policy, name));
    onProgress?.(evaluations.length);
  }
  return { end: 'finished' as const, evaluations };
}

/** What is stored is not made again, and a base that a sibling has is borrowed. */
async function evaluateOne<Name extends EvaluationName>(
  policy: AskedPolicy,
  asked: Name,
  onProgress?: (done: number) => void,
): Promise<Evaluation & Name> {
  const { path, key, siblings = [], words } = policy;
  const name = asked.state === 'base' ? { ...asked, update: 0 } : asked;
  const { set, limit, probe } = name;
  const known = new EvaluationStore(path).find(name);
  if (known !== null) return probe === undefined ? known : expectSameKey(known, policy);
  const make = async (): Promise<Evaluation & Name> => {
    const tasks = await policy.tasks(set, limit);
    const prompts = probe === undefined ? tasks : tasks.map((task) => probedTask(task, probe, words));
    const rows = await policy.complete(prompts, name, onProgress);
    const run = name.state === 'base' ? {} : { run: policy.trained };
    return { ...name, seed: evaluationSeed, key, ...run, problems: policy.problemsOf(set), rows };
  };
  const store = async (evaluation: Evaluation & Name): Promise<Evaluation & Name> => {
    await new EvaluationStore(path).save(evaluation);
    return evaluation;
  };
  if (name.state !== 'base') return store(await make());
  return inTurn(`${key} ${JSON.stringify(name)}`, async () => {
    for (const sibling of siblings) {
      const found = new EvaluationStore(sibling).find(name);
      if (found?.key === key) return store(found);
    }
    return store(await make());
  });
}

/** A folder that has probes of another model, other prompts or another sampling would mix what cannot be compared. */
function expectSameKey<Known extends Evaluation>(known: Known, { path, key }: AskedPolicy): Known {
  if (known.key === key && known.seed === evaluationSeed) return known;
  throw new UserError({
    call: `probe ${path}`,
    expected: 'probes of the same model, prompts and sampling',
    found: `the probe "${known.probe?.name}" (${known.set}, ${known.state}) of others`,
    fix: `Name another folder (--out, of a recipe), or move ${path}/probes away.`,
  });
}

export class RunEvaluator implements AskedPolicy {
  readonly #parts: EvaluatorParts;
  readonly #store: EvaluationStore;
  readonly key: string;
  readonly trained: string;
  readonly #tasks = new Map<string, readonly Task[]>();
  #loaded: number | null = null;

  constructor(parts: EvaluatorParts) {
    this.#parts = parts;
    this.#store = new EvaluationStore(parts.run.path);
    const manifest = parts.run.readManifest();
    [this.key, this.trained] = [evaluationKey(manifest), manifest.identity.config];
  }

  get run(): RunDirectory {
    return this.#parts.run;
  }

  get path(): string {
    return this.run.path;
  }

  get siblings(): readonly string[] {
    return this.#parts.siblings ?? [];
  }

  get words(): InstructionWords {
    const { text, loopholes, inWords } = this.#parts;
    return { text, loopholes, inWords };
  }

  problemsOf(set: EvaluationSet): ProblemUse {
    return this.#parts.use[splitOf(set)];
  }

  evaluate(name: EvaluationName, onProgress?: (done: number) => void): Promise<Evaluation> {
    return evaluateOne(this, name, onProgress);
  }

  /** Refuses, before anything is computed, evaluations of sets without prompts and of checkpoints that the run does not have. */
  expectPossible(names: readonly EvaluationName[]): void {
    const { run, splits } = this.#parts;
    const checkpoints = run.listCheckpoints();
    const call = `evaluate ${run.path}`;
    this.#expectSameRule();
    if (names.some((name) => !this.#store.has(name))) expectWritable(call, run.path);
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
