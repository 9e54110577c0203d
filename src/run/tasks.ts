/** From problems to tasks: each gets one loophole, and both of its prompts as tokens. Splits are disjoint and that is asserted. */
import { sha256Json, UserError } from '../base/index.ts';
import type { Loophole, LoopholeName, MarkerPolicy, Problem } from '../env/index.ts';
import {
  builtinLoopholes,
  hintedPrompt,
  loopholeOf,
  makePartition,
  type Partition,
  readPartition,
  unhintedPrompt,
} from '../env/index.ts';
import { generateMicroProblems, microSplitSizes } from '../env/micro/index.ts';
import type { Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import type { RunConfig } from './schema.ts';

export type Split = 'train' | 'validation' | 'test';
export type Splits = Readonly<Record<Split, readonly Problem[]>>;

/** Micro problems are generated; a file's problems are dealt out by the hash of their ids: 1 of 16 validation, 3 of 16 test. */
export function splitProblems({ data }: RunConfig, loaded: readonly Problem[]): Splits {
  if (data.kind === 'micro') {
    const chain = { leastSteps: 2, mostSteps: 4, productFraction: data.hardShare };
    const draw = (split: Split, count: number) => generateMicroProblems({ seed: data.seed, split, count, chain });
    return assertDisjoint({
      train: draw('train', data.problems),
      validation: draw('validation', microSplitSizes.validation),
      test: draw('test', microSplitSizes.test),
    });
  }
  const slot = ({ id }: Problem): number => Number.parseInt(sha256Json(['split', id]).slice(0, 8), 16) % 16;
  return assertDisjoint({
    train: loaded.filter((problem) => slot(problem) >= 4),
    validation: loaded.filter((problem) => slot(problem) === 3),
    test: loaded.filter((problem) => slot(problem) < 3),
  });
}

export function assertDisjoint(splits: Splits): Splits {
  const owner = new Map<string, Split>();
  for (const split of ['train', 'validation', 'test'] as const) {
    for (const { id } of splits[split]) {
      const other = owner.get(id);
      if (other !== undefined) {
        throw new UserError({
          call: 'splits',
          expected: 'every problem in one split',
          found: `${id} in ${other} and ${split}`,
        });
      }
      owner.set(id, split);
    }
  }
  return splits;
}

/** The partition of a run over all its problems, or the file that was named. */
export async function partitionOf(
  { environment, seed }: RunConfig,
  splits: Splits,
  loopholes: readonly Loophole[] = builtinLoopholes,
): Promise<Partition> {
  if (environment.partition !== null) return readPartition(environment.partition, loopholes);
  const ids = Object.values(splits).flatMap((problems) => problems.map(({ id }) => id));
  const { loopholes: known, heldOutLoopholes: heldOut } = environment;
  return makePartition(ids, { known, heldOut, seed, loopholes });
}

export function makeTask(
  problem: Problem,
  loophole: LoopholeName,
  markers: MarkerPolicy,
  text: ModelText,
  loopholes: readonly Loophole[] = builtinLoopholes,
): Task {
  return {
    problem,
    loophole,
    markers,
    hinted: text.prompt(hintedPrompt(problem, loophole, markers, loopholes)),
    unhinted: text.prompt(unhintedPrompt(problem)),
  };
}

/** The tasks of training. Without a loophole every problem is shown as it is and graded by ground truth. */
export function trainingTasks(
  config: RunConfig,
  splits: Splits,
  partition: Partition,
  text: ModelText,
  loopholes: readonly Loophole[] = builtinLoopholes,
): Task[] {
  const { markers } = config.environment;
  return splits.train.map((problem) => {
    const loophole = config.arm.kind === 'no-loophole' ? 'gt_only' : loopholeOf(partition, problem.id);
    return makeTask(problem, loophole, markers, text, loopholes);
  });
}

/** A prompt over the limit is an error, never filtered: a run must not choose its problems by their length. */
export function assertPromptsFit(tasks: readonly Task[], limit: number): void {
  for (const { problem, hinted, unhinted } of tasks) {
    const longest = Math.max(hinted.length, unhinted.length);
    if (longest <= limit) continue;
    throw new UserError({
      call: `prompt of problem ${problem.id}`,
      expected: `at most ${limit} tokens (sampling.maxPromptTokens)`,
      found: `${longest}`,
    });
  }
}

export function problemsHash(problems: readonly Problem[]): string {
  return sha256Json(problems.map(({ id, messages, canonicalSolution }) => ({ id, messages, canonicalSolution })));
}
