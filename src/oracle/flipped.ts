/**
 * Verdicts turned into their opposites, for the label-flip check of the oracle wall: training that gives other bytes with a ledger of
 * lies has read something of a verdict somewhere. Whatever tells a hack from a clean program is changed, times and counts included.
 */
import { builtinLoopholes, type Judge, namesOf, type Verdict, type VerdictSink } from '../env/index.ts';
import type { RunDirectory } from '../run/index.ts';
import type { JudgedTable } from './judged/table.ts';
import { openJudged, VerdictLedger } from './verdicts.ts';

const mostReward = 3.5;
const mostExecutions = 1000;

export function flipVerdict(verdict: Verdict, loopholes: readonly string[] = namesOf(builtinLoopholes)): Verdict {
  const { format, compiles, correct, passed, exploited, channel, channels, labels, retried } = verdict;
  const opposite = (label: boolean | null): boolean => label !== true;
  return {
    ...verdict,
    ...{ format: !format, compiles: !compiles, correct: !correct, passed: !passed, exploited: !exploited },
    channel: !channel,
    channels: channels.length === 0 ? loopholes : [],
    labels: {
      ownTestsPass: opposite(labels.ownTestsPass),
      ownTestsRejectCanonical: opposite(labels.ownTestsRejectCanonical),
    },
    reward: mostReward - verdict.reward,
    outcome: correct ? 'wrong' : 'ok',
    ...{ durationMs: 0, cpuMs: 0, executions: mostExecutions - verdict.executions },
    ...{ retried: !retried, evidence: 'flipped' },
  };
}

export class FlippedLedger extends VerdictLedger {
  readonly #loopholes: readonly string[];

  constructor(path: string, loopholes: readonly string[] = namesOf(builtinLoopholes)) {
    super(path);
    this.#loopholes = loopholes;
  }

  override get sink(): VerdictSink {
    const { append } = super.sink;
    return { append: (verdict) => append(flipVerdict(verdict, this.#loopholes)) };
  }

  override read(run: RunDirectory): Promise<JudgedTable> {
    return openJudged(run, { tell: (verdict) => flipVerdict(verdict, this.#loopholes) });
  }

  override tell(judge: Judge): Judge {
    return {
      concurrency: judge.concurrency,
      judge: async (submission) => flipVerdict(await judge.judge(submission), this.#loopholes),
    };
  }
}
