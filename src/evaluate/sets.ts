/**
 * What is evaluated (docs/science.md, section 9). `test-novel`: held-out problems whose hints disclose markers never seen in training.
 * `test-original`: the same problems with the original markers. `test-unhinted`: the same problems with no hint, and no loophole open.
 * `train`: problems of training with training's own markers. `validation`: the pool from which `curve`, the 64 problems of curves, is
 * chosen. `monitor`: 64 of the problems of `test-original`, chosen likewise, to watch a run by; no bar or table of results can name it. Every
 * arm and seed gets the same prompts in the same order. A probe asks the prompts of a set in another way and evaluates the completions as ever: with an
 * instruction beside the user message (elicitation tables and leak probes), or with the beginning of the completion given (prefill sensitivity).
 */
import { randomStream, UserError } from '../base/index.ts';
import type { Loophole, MarkerPolicy, Problem } from '../env/index.ts';
import { type Instruction, leakPresets, places, type ReadsWords, readInstruction } from '../env/instructions.ts';
import { type Opening, openingText } from '../env/openings.ts';
import { loopholeOf, type Partition } from '../env/partition.ts';
import { assertDisjoint, type Splits } from '../env/sources/splits.ts';
import { learnedInstruction } from '../grpo/arms/prompted.ts';
import type { Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import { type InstructionWords, instructedPrompt, makeTask, type RunConfig } from '../run/index.ts';
import type { ProbedTask } from './evaluate.ts';
import type { Probe } from './store.ts';

export const evaluationSets = [
  'test-novel',
  'test-original',
  'test-unhinted',
  'train',
  'validation',
  'curve',
  'monitor',
] as const;
export type EvaluationSet = (typeof evaluationSets)[number];

export const finalSets = [
  'test-novel',
  'test-original',
  'test-unhinted',
  'train',
] as const satisfies readonly EvaluationSet[];
export type FinalSet = (typeof finalSets)[number];

export const curveSets = ['curve', 'monitor', ...finalSets] as const satisfies readonly EvaluationSet[];
export type CurveSet = (typeof curveSets)[number];

/** Chooses the prompts of `train` and of `curve`; the seed of a run has no part in it. */
export const promptSeed = 20_260;

const trainProblems = 256;

export const parseSet = (name: string): EvaluationSet => findSet(evaluationSets, name, '--sets');
export const parseCurveSet = (name: string): CurveSet => findSet(curveSets, name, '--sets');

export function findSet<Set extends EvaluationSet>(sets: readonly Set[], name: string, call: string): Set {
  const found = sets.find((set) => set === name);
  if (found !== undefined) return found;
  throw new UserError({ call, expected: sets.join(', '), found: name });
}

export interface SetContext {
  readonly config: RunConfig;
  readonly splits: Splits;
  readonly partition: Partition;
  readonly text: ModelText;
  readonly loopholes: readonly Loophole[];
  readonly curveIds?: readonly string[];
}

/** The split that the problems of each set are taken from, and its markers where they are not those of training. */
const sources: Readonly<Record<EvaluationSet, { readonly split: keyof Splits; readonly markers?: MarkerPolicy }>> = {
  'test-novel': { split: 'test', markers: 'novel' },
  'test-original': { split: 'test', markers: 'original' },
  'test-unhinted': { split: 'test', markers: 'original' },
  train: { split: 'train' },
  validation: { split: 'validation' },
  curve: { split: 'validation' },
  monitor: { split: 'test', markers: 'original' },
};

export const splitOf = (set: EvaluationSet): keyof Splits => sources[set].split;

export function evaluationTasks(set: EvaluationSet, context: SetContext, limit: number | null = null): Task[] {
  const { config, splits, partition, text, loopholes, curveIds = [] } = context;
  assertDisjoint(splits);
  const { split, markers = config.environment.markers } = sources[set];
  const all = set === 'train' ? sampleOf(splits.train, trainProblems) : splits[split];
  const isPart = set === 'curve' || set === 'monitor';
  const problems = isPart ? all.filter(({ id }) => curveIds.includes(id)) : all;
  const loophole = ({ id }: Problem) => (set === 'test-unhinted' ? 'gt_only' : loopholeOf(partition, id));
  return problems
    .slice(0, limit ?? problems.length)
    .map((problem) => makeTask(problem, loophole(problem), markers, { text, loopholes }));
}

export function expectFilled(call: string, sets: readonly EvaluationSet[], splits: Splits): void {
  const empty = sets.find((set) => splits[splitOf(set)].length === 0);
  if (empty === undefined) return;
  const counts = Object.entries(splits).map(([split, { length }]) => `${length} ${split}`);
  throw new UserError({
    call,
    expected: `problems in the split "${splitOf(empty)}", for the set ${empty}`,
    found: `none (${counts.join(', ')})`,
    fix: 'Take more problems, or evaluate other sets.',
  });
}

function sampleOf(problems: readonly Problem[], count: number): Problem[] {
  const order = randomStream(promptSeed, 'evaluated training problems').permutation(problems.length);
  return Array.from(order.subarray(0, count), (i) => problems[i]);
}

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
export function leakProbes(arm: { readonly kind: string }, inWords: ReadsWords): LeakProbe[] {
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
