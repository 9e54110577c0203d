/** What both kinds of text judge do: they score texts, and count what that cost and why they abstained. */
import type { MonitorReport } from '../monitor.ts';
import type { Quoted } from './question.ts';

export interface JudgedText {
  /** The id of the rollout. */
  readonly id: string;
  readonly text: Quoted;
}

export interface TextJudge {
  /** One score from 0 to 1 for each text, or null. `step` counts updates from 0. */
  score(step: number, texts: readonly JudgedText[]): Promise<readonly (number | null)[]>;
  report(): MonitorReport;
  /** Reads as many questions as one pass takes, as long as they may be; absent for a judge that uses no device. */
  rehearse?(): Promise<void>;
}

export class JudgeCounts {
  readonly #abstentions = new Map<string, number>();
  readonly #costs = new Map<string, number>();

  /** Counts an abstention and returns its score. */
  abstain(reason: string): null {
    this.#abstentions.set(reason, (this.#abstentions.get(reason) ?? 0) + 1);
    return null;
  }

  pay(costs: { readonly [name in 'passes' | 'requests' | 'tokens']?: number }): void {
    for (const name of ['passes', 'requests', 'tokens'] as const) {
      const cost = costs[name];
      if (cost !== undefined) this.#costs.set(name, (this.#costs.get(name) ?? 0) + cost);
    }
  }

  /** The counts since the last call, by name in order of the alphabet. */
  take(): MonitorReport {
    const report = { abstentions: sorted(this.#abstentions), costs: sorted(this.#costs) };
    this.#abstentions.clear();
    this.#costs.clear();
    return report;
  }
}

function sorted(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
