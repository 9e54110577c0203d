/**
 * What is evaluated (SCIENCE, section 9). `test-novel`: held-out problems whose hints disclose markers never seen in training.
 * `test-original`: the same problems with the original markers. `train`: problems of training with training's own markers.
 * `monitor`: 64 validation problems, for curves. The same prompts in the same order for every arm.
 */
import { UserError } from '../base/errors.ts';
import { randomStream } from '../base/rng.ts';
import type { MarkerPolicy } from '../env/markers.ts';
import { modeOf, type Partition } from '../env/partition.ts';
import type { Problem } from '../env/problem.ts';
import type { Task } from '../grpo/rollout.ts';
import type { RunConfig } from '../run/schema.ts';
import { assertDisjoint, makeTask, type Splits } from '../run/tasks.ts';
import type { ModelText } from '../run/text.ts';

export const evaluationSets = ['test-novel', 'test-original', 'train', 'monitor'] as const;
export type EvaluationSet = (typeof evaluationSets)[number];

/** Problems of training that are looked at again. */
const trainProblems = 256;

export function parseSet(name: string): EvaluationSet {
  const found = evaluationSets.find((set) => set === name);
  if (found !== undefined) return found;
  throw new UserError({ call: '--set', expected: evaluationSets.join(', '), found: name });
}

export function evaluationTasks(
  set: EvaluationSet,
  { environment, seed }: RunConfig,
  splits: Splits,
  partition: Partition,
  text: ModelText,
): Task[] {
  assertDisjoint(splits);
  const policy: Readonly<Record<EvaluationSet, MarkerPolicy>> = {
    'test-novel': 'novel',
    'test-original': 'original',
    train: environment.markers,
    monitor: environment.markers,
  };
  const problems: Readonly<Record<EvaluationSet, readonly Problem[]>> = {
    'test-novel': splits.test,
    'test-original': splits.test,
    train: sampleOf(splits.train, trainProblems, seed),
    monitor: splits.validation,
  };
  return problems[set].map((problem) => makeTask(problem, modeOf(partition, problem.id), policy[set], text));
}

function sampleOf(problems: readonly Problem[], count: number, seed: number): Problem[] {
  const order = randomStream(seed, 'evaluated training problems').permutation(problems.length);
  return Array.from(order.subarray(0, count), (i) => problems[i]);
}
