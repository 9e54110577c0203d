/**
 * What is evaluated (docs/science.md, section 9). `test-novel`: held-out problems whose hints disclose markers never seen in training.
 * `test-original`: the same problems with the original markers. `train`: problems of training with training's own markers.
 * `validation`: the pool from which `curve`, the 64 problems of curves, is chosen. Every arm gets the same prompts in the same order.
 */
import { randomStream, UserError } from '../base/index.ts';
import type { Loophole, MarkerPolicy, Problem } from '../env/index.ts';
import { loopholeOf, type Partition } from '../env/index.ts';
import { assertDisjoint, type Splits } from '../env/sources/index.ts';
import type { Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { makeTask } from '../run/index.ts';

export const evaluationSets = ['test-novel', 'test-original', 'train', 'validation', 'curve'] as const;
export type EvaluationSet = (typeof evaluationSets)[number];

/** The sets of a final evaluation, which the tables of results show. */
export const finalSets = ['test-novel', 'test-original', 'train'] as const satisfies readonly EvaluationSet[];
export type FinalSet = (typeof finalSets)[number];

/** Number of training problems that are evaluated. */
const trainProblems = 256;

export function parseSet(name: string): EvaluationSet {
  const found = evaluationSets.find((set) => set === name);
  if (found !== undefined) return found;
  throw new UserError({ call: '--sets', expected: evaluationSets.join(', '), found: name });
}

export interface SetContext {
  readonly config: RunConfig;
  readonly splits: Splits;
  readonly partition: Partition;
  readonly text: ModelText;
  readonly loopholes: readonly Loophole[];
  /** Ids of the curve set's problems; only `curve` needs them. */
  readonly curveIds?: readonly string[];
}

export function evaluationTasks(set: EvaluationSet, context: SetContext, limit: number | null = null): Task[] {
  const { config, splits, partition, text, loopholes } = context;
  assertDisjoint(splits);
  const markers: Readonly<Record<EvaluationSet, MarkerPolicy>> = {
    'test-novel': 'novel',
    'test-original': 'original',
    train: config.environment.markers,
    validation: config.environment.markers,
    curve: config.environment.markers,
  };
  const problems = problemsOf(set, context);
  return problems
    .slice(0, limit ?? problems.length)
    .map((problem) => makeTask(problem, loopholeOf(partition, problem.id), markers[set], { text, loopholes }));
}

/** Refuses sets whose split has no problems. */
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

/** The split that a set's problems are taken from. */
function splitOf(set: EvaluationSet): keyof Splits {
  if (set === 'train') return 'train';
  return set === 'test-novel' || set === 'test-original' ? 'test' : 'validation';
}

function problemsOf(set: EvaluationSet, { config, splits, curveIds = [] }: SetContext): readonly Problem[] {
  switch (set) {
    case 'test-novel':
    case 'test-original':
      return splits.test;
    case 'train':
      return sampleOf(splits.train, trainProblems, config.seed);
    case 'validation':
      return splits.validation;
    case 'curve':
      return splits.validation.filter(({ id }) => curveIds.includes(id));
  }
}

function sampleOf(problems: readonly Problem[], count: number, seed: number): Problem[] {
  const order = randomStream(seed, 'evaluated training problems').permutation(problems.length);
  return Array.from(order.subarray(0, count), (i) => problems[i]);
}
