/** From problems to tasks: each gets one loophole, and both of its prompts as tokens. */
import { sha256Json, UserError } from '../base/index.ts';
import type { LoopholeName, MarkerPolicy, Problem } from '../env/index.ts';
import {
  hintedPrompt,
  loopholeOf,
  makePartition,
  type Partition,
  readPartition,
  unhintedPrompt,
} from '../env/index.ts';
import type { Splits } from '../env/sources/index.ts';
import type { Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import type { RunConfig } from './schema.ts';

/** The partition of a run over all its problems, or the file that was named. */
export async function partitionOf({ environment, seed }: RunConfig, splits: Splits): Promise<Partition> {
  if (environment.partition !== null) return readPartition(environment.partition);
  const ids = Object.values(splits).flatMap((problems) => problems.map(({ id }) => id));
  return makePartition(ids, { known: environment.loopholes, heldOut: environment.heldOutLoopholes, seed });
}

export function makeTask(problem: Problem, loophole: LoopholeName, markers: MarkerPolicy, text: ModelText): Task {
  return {
    problem,
    loophole,
    markers,
    hinted: text.prompt(hintedPrompt(problem, loophole, markers)),
    unhinted: text.prompt(unhintedPrompt(problem)),
  };
}

/** The tasks of training. With closed loopholes every problem is shown as it is and graded by ground truth. */
export function trainingTasks(
  { environment: { markers } }: RunConfig,
  splits: Pick<Splits, 'train'>,
  partition: Partition,
  text: ModelText,
  loopholes: 'open' | 'closed',
): Task[] {
  return splits.train.map((problem) => {
    const loophole = loopholes === 'closed' ? 'gt_only' : loopholeOf(partition, problem.id);
    return makeTask(problem, loophole, markers, text);
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
