/** Evaluates probes one after another. Each is stored when it is done, so an interrupted list goes on where it stopped. */
import type { PolicyState } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { ProblemUse } from '../env/sources/index.ts';
import type { Task } from '../grpo/index.ts';
import type { InstructionWords } from '../run/index.ts';
import type { ProbedTask } from './evaluate.ts';
import { evaluationSeed } from './evaluation-key.ts';
import type { EvaluateAllOptions } from './plan.ts';
import { probedTask } from './probe.ts';
import { type ProbeEvaluation, type ProbeName, ProbeStore } from './probe-store.ts';
import type { EvaluationSet } from './sets.ts';
import type { EvaluationRow } from './store.ts';

/** A policy that can be asked: the checkpoints of a run, or the base of a recipe. */
export interface ProbedPolicy {
  /** The folder that the probes are kept in. */
  readonly path: string;
  /** Hash of model, prompts and sampling: of everything that decides the rows, except the adapter. */
  readonly key: string;
  readonly words: InstructionWords;
  tasks(set: EvaluationSet, limit: number | null): Promise<readonly Task[]>;
  /** What became of the problems of the set's split. */
  problemsOf(set: EvaluationSet): ProblemUse;
  /** Completions of the prompts in a state after an update, judged. */
  complete(
    tasks: readonly ProbedTask[],
    at: { readonly update: number; readonly state: PolicyState },
  ): Promise<EvaluationRow[]>;
}

export interface ProbedAll {
  readonly end: 'finished' | 'interrupted';
  /** The probes that are done, in the order of their names. */
  readonly found: readonly ProbeEvaluation[];
}

export async function evaluateProbes(
  policy: ProbedPolicy,
  names: readonly ProbeName[],
  { onProgress, signal }: EvaluateAllOptions = {},
): Promise<ProbedAll> {
  const found: ProbeEvaluation[] = [];
  for (const name of names) {
    if (signal?.aborted) return { end: 'interrupted', found };
    found.push(await evaluateProbe(policy, name));
    onProgress?.(found.length);
  }
  return { end: 'finished', found };
}

async function evaluateProbe(policy: ProbedPolicy, name: ProbeName): Promise<ProbeEvaluation> {
  const { path, key, words } = policy;
  const store = new ProbeStore(path);
  const known = store.find(name);
  if (known !== null) return expectSameKey(known, policy);
  const tasks = await policy.tasks(name.set, name.limit);
  const asked = tasks.map((task) => probedTask(task, name.probe, words));
  const rows = await policy.complete(asked, name);
  const made = { ...name, seed: evaluationSeed, key, problems: policy.problemsOf(name.set), rows };
  await store.save(made);
  return made;
}

/** A folder that has probes of another model, other prompts or another sampling would mix what cannot be compared. */
function expectSameKey(known: ProbeEvaluation, { path, key }: ProbedPolicy): ProbeEvaluation {
  if (known.key === key && known.seed === evaluationSeed) return known;
  throw new UserError({
    call: `probe ${path}`,
    expected: 'probes of the same model, prompts and sampling',
    found: `${known.probe.name} (${known.set}, ${known.state}) of others`,
    fix: `Name another folder, or move ${path}/probes away.`,
  });
}
