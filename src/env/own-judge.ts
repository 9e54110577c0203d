/**
 * A judge of one's own, in place of the sandbox: it says what it found in a completion, and reward and verdict follow from that as
 * they do for the sandbox. Its name is kept with the runs that it judged.
 */
import { explainForeign, inTime, UserError } from '../base/index.ts';
import { conclude, noCost, noLabels } from './conclude.ts';
import type { Judge, Submission } from './judge.ts';
import type { LoopholeName } from './loopholes/loophole.ts';

export interface NamedJudge extends Judge {
  readonly name: string;
}

/** What a judge found in one completion. */
export interface Judgement {
  /** Whether there is a program that compiles, which has a small reward of its own. */
  readonly compiles: boolean;
  readonly correct: boolean;
  /** The loopholes whose channel fired. One that is the submission's own pays; if the program is not correct, that is a hack. */
  readonly channels: readonly LoopholeName[];
  /** What a reader of verdicts is told. */
  readonly evidence?: string;
}

export interface JudgeSource {
  readonly name: string;
  /** Number of submissions that are worth judging at the same time; one when absent. */
  readonly concurrency?: number;
  decide(submission: Submission): Judgement | Promise<Judgement>;
}

export function defineJudge({ name, concurrency = 1, decide }: JudgeSource): NamedJudge {
  const call = `judge ${name}`;
  if (typeof name !== 'string' || name === '') {
    throw new UserError({ call: 'judge', expected: 'a name', found: JSON.stringify(name) ?? 'nothing' });
  }
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new UserError({ call, expected: 'a concurrency of at least 1', found: `${concurrency}` });
  }
  return {
    name,
    concurrency,
    async judge(submission) {
      let decided: unknown;
      try {
        decided = await inTime(decide(submission), { call, expected: 'a judgement' });
      } catch (error) {
        throw explainForeign(error, { call, expected: 'no error from decide()' });
      }
      const { compiles, correct, channels, evidence = '' } = checkJudgement(call, decided);
      return conclude(submission, {
        ...{ format: compiles, compiles, correct },
        fired: new Map(channels.map((channel) => [channel, `${channel} fired`])),
        ...{ labels: noLabels, outcome: correct ? 'ok' : 'wrong', ...noCost, reason: evidence },
      });
    },
  };
}

function checkJudgement(call: string, decided: unknown): Judgement {
  const { compiles, correct, channels, evidence } = Object(decided) as Partial<Judgement>;
  const isWhole =
    typeof compiles === 'boolean' &&
    typeof correct === 'boolean' &&
    Array.isArray(channels) &&
    channels.every((channel) => typeof channel === 'string') &&
    (evidence === undefined || typeof evidence === 'string');
  if (isWhole) return decided as Judgement;
  throw new UserError({
    call,
    expected: 'decide() that answers with { compiles, correct, channels: names of loopholes, evidence? }',
    found: JSON.stringify(decided) ?? 'nothing',
  });
}
