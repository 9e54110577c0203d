/**
 * A probe asks the prompts of a set in another way and evaluates the completions as ever: with an instruction beside the user message,
 * or with the beginning of the completion given. Elicitation tables and leak probes are lists of the first kind; the second kind
 * measures prefill sensitivity.
 */
import { type Instruction, leakPresets, places, readInstruction } from '../env/instructions.ts';
import { type Opening, openingText } from '../env/openings.ts';
import { learnedInstruction } from '../grpo/arms/prompted.ts';
import type { Task } from '../grpo/rollout.ts';
import { type InstructionWords, instructedPrompt } from '../run/index.ts';
import type { ProbedTask } from './evaluate.ts';
import { type EvaluationSet, evaluationSets, findSet } from './sets.ts';
import type { Probe } from './store.ts';

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
