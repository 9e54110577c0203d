/**
 * A probe asks the prompts of a set in another way and evaluates the completions as ever: with an instruction beside the user message,
 * or with the beginning of the completion given. Elicitation tables and leak probes are lists of the first kind; the second kind
 * measures prefill sensitivity.
 */
import type { PolicyState } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { type Instruction, leakPresets, places, readInstruction } from '../env/instructions.ts';
import { type Opening, openingText } from '../env/openings.ts';
import type { ProblemUse } from '../env/sources/index.ts';
import { learnedInstruction } from '../grpo/arms/prompted.ts';
import type { Task } from '../grpo/rollout.ts';
import { type InstructionWords, instructedPrompt } from '../run/index.ts';
import { evaluationSeed, type ProbedTask } from './evaluate.ts';
import type { EvaluateAllOptions } from './plan.ts';
import { type EvaluationSet, evaluationSets, findSet } from './sets.ts';
import { type EvaluationRow, type Probe, type ProbeEvaluation, type ProbeName, ProbeStore } from './store.ts';

const noInstruction: Instruction = { name: 'none', text: '', place: places[1] };

export function instructionProbe(instruction: Instruction): Probe {
  return { name: instruction.name, instruction, opening: null };
}

export function openingProbe(opening: Opening): Probe {
  return { name: `opening-${opening}`, instruction: noInstruction, opening };
}

/** The sets that probes can ask: those that have an open loophole. */
export const probedSets = evaluationSets.filter((set) => set !== 'test-unhinted');

export function parseProbedSet(name: string): EvaluationSet {
  return findSet(probedSets, name, '--sets');
}

/** A leak probe by its category; `none`, the prompt of deployment, stands beside them where training had an instruction. */
export type LeakProbe = { readonly category: string; readonly probe: Probe };

/**
 * The six categories of leak probes: `original` is the prompt that the run was trained under, `eliciting` asks for the hack in other
 * words, `structure` has the form of such a request and another content, `negated` says not to, `keyword` mentions the evaluation
 * without a request, `irrelevant` is unrelated. `inWords`: whether the model reads words.
 */
export function leakProbes(arm: { readonly kind: string }, inWords: boolean): LeakProbe[] {
  const learned = learnedInstruction(arm);
  const call = 'leak probes';
  const original = learned === null ? noInstruction : readInstruction(learned.text, learned.place, inWords, call);
  const presets = Object.entries(leakPresets).map(([category, preset]) => ({
    category,
    probe: instructionProbe(readInstruction(preset, 'after', inWords, call)),
  }));
  const none = { category: 'none', probe: instructionProbe(noInstruction) };
  return [
    ...(original.text === '' ? [] : [none]),
    { category: 'original', probe: instructionProbe(original) },
    ...presets,
  ];
}

export function probedTask(task: Task, { instruction, opening }: Probe, words: InstructionWords): ProbedTask {
  const hinted =
    instruction.text === '' ? task.hinted : instructedPrompt({ ...task, hackable: true }, instruction, words);
  if (opening === null) return { ...task, hinted };
  return { ...task, hinted, opening: openingText(opening, task, words) };
}

export interface ProbedPolicy {
  readonly path: string;
  readonly key: string;
  readonly words: InstructionWords;
  tasks(set: EvaluationSet, limit: number | null): Promise<readonly Task[]>;
  problemsOf(set: EvaluationSet): ProblemUse;
  complete(
    tasks: readonly ProbedTask[],
    at: { readonly update: number; readonly state: PolicyState },
  ): Promise<EvaluationRow[]>;
}

export type ProbedAll = Awaited<ReturnType<typeof evaluateProbes>>;

export async function evaluateProbes(
  policy: ProbedPolicy,
  names: readonly ProbeName[],
  { onProgress, signal }: EvaluateAllOptions = {},
) {
  const found: ProbeEvaluation[] = [];
  for (const name of names) {
    if (signal?.aborted) return { end: 'interrupted' as const, found };
    found.push(await evaluateProbe(policy, name));
    onProgress?.(found.length);
  }
  return { end: 'finished' as const, found };
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
