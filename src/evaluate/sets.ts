/**
 * What is evaluated (docs/science.md, section 9). `test-novel`: held-out problems whose hints disclose markers never seen in training.
 * `test-original`: the same problems with the original markers. `test-unhinted`: the same problems with no hint, and no loophole open.
 * `train`: problems of training with training's own markers. `validation`: the pool from which `curve`, the 64 problems of curves, is
 * chosen. Every arm and seed gets the same prompts in the same order.
 */
import { randomStream, UserError } from '../base/index.ts';
import type { Loophole, MarkerPolicy, Problem } from '../env/index.ts';
import { loopholeOf, type Partition } from '../env/partition.ts';
import { assertDisjoint, type Splits } from '../env/sources/splits.ts';
import type { Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { makeTask } from '../run/index.ts';

export const evaluationSets = ['test-novel', 'test-original', 'test-unhinted', 'train', 'validation', 'curve'] as const;
export type EvaluationSet = (typeof evaluationSets)[number];

export const finalSets = [
  'test-novel',
  'test-original',
  'test-unhinted',
  'train',
] as const satisfies readonly EvaluationSet[];
export type FinalSet = (typeof finalSets)[number];

export const curveSets = ['curve', ...finalSets] as const satisfies readonly EvaluationSet[];
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

export function evaluationTasks(set: EvaluationSet, context: SetContext, limit: number | null = null): Task[] {
  const { config, splits, partition, text, loopholes } = context;
  assertDisjoint(splits);
  const markers: Readonly<Record<EvaluationSet, MarkerPolicy>> = {
    'test-novel': 'novel',
    'test-original': 'original',
    'test-unhinted': 'original',
    train: config.environment.markers,
    validation: config.environment.markers,
    curve: config.environment.markers,
  };
  const problems = problemsOf(set, context);
  const loophole = ({ id }: Problem) => (set === 'test-unhinted' ? 'gt_only' : loopholeOf(partition, id));
  return problems
    .slice(0, limit ?? problems.length)
    .map((problem) => makeTask(problem, loophole(problem), markers[set], { text, loopholes }));
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

export function splitOf(set: EvaluationSet): keyof Splits {
  if (set === 'train') return 'train';
  return set === 'validation' || set === 'curve' ? 'validation' : 'test';
}

function problemsOf(set: EvaluationSet, { splits, curveIds = [] }: SetContext): readonly Problem[] {
  switch (set) {
    case 'test-novel':
    case 'test-original':
    case 'test-unhinted':
      return splits.test;
    case 'train':
      return sampleOf(splits.train, trainProblems);
    case 'validation':
      return splits.validation;
    case 'curve':
      return splits.validation.filter(({ id }) => curveIds.includes(id));
  }
}

function sampleOf(problems: readonly Problem[], count: number): Problem[] {
  const order = randomStream(promptSeed, 'evaluated training problems').permutation(problems.length);
  return Array.from(order.subarray(0, count), (i) => problems[i]);
}
