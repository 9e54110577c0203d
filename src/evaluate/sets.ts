/**
 * What is evaluated (docs/science.md, section 9). `test-novel`: held-out problems whose hints disclose markers never seen in training.
 * `test-original`: the same problems with the original markers. `test-unhinted`: the same problems with no hint, and no loophole open.
 * `train`: problems of training with training's own markers. `validation`: the pool from which `curve`, the 64 problems of curves, is
 * chosen. `monitor`: 64 of the problems of `test-original`, chosen likewise, to watch a run by; no bar or table of results can name it. Every
 * arm and seed gets the same prompts in the same order.
 */
import { randomStream, UserError } from '../base/index.ts';
import type { Loophole, MarkerPolicy, Problem } from '../env/index.ts';
import { loopholeOf, type Partition } from '../env/partition.ts';
import { assertDisjoint, type Splits } from '../env/sources/splits.ts';
import type { Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { makeTask } from '../run/index.ts';

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
