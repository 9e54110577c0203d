/**
 * Verdicts turned into their opposites, for the label-flip check of the oracle wall: training whose bytes change when every verdict
 * is flipped has read a label somewhere.
 */
import { builtinLoopholes, namesOf, type Verdict, type VerdictSink } from '../env/index.ts';
import { VerdictLedger } from './verdicts.ts';

export function flipVerdict(verdict: Verdict, loopholes: readonly string[] = namesOf(builtinLoopholes)): Verdict {
  const { format, compiles, correct, passed, exploited, channel, channels } = verdict;
  return {
    ...verdict,
    format: !format,
    compiles: !compiles,
    correct: !correct,
    passed: !passed,
    exploited: !exploited,
    channel: !channel,
    channels: loopholes.filter((name) => !channels.includes(name)),
    reward: 3.5 - verdict.reward,
    outcome: correct ? 'wrong' : 'ok',
    evidence: 'flipped',
  };
}

/** A ledger that stores and returns the opposite of what it is given. */
export class FlippedLedger extends VerdictLedger {
  override get sink(): VerdictSink {
    const { append } = super.sink;
    return { append: (verdict) => append(flipVerdict(verdict)) };
  }
}
