/**
 * The only reader of verdicts. The grader is given the writing half (`append`); the reading half stays on this side of the
 * wall, for the oracle gate, for the figures shown while training, and for analysis.
 */

import { ShapeError } from '../base/index.ts';
import { JsonlWriter } from '../base/node/index.ts';
import type { Verdict, VerdictSink } from '../env/index.ts';
import {
  dropLines,
  dropRolloutLines,
  type RunDirectory,
  readTable,
  runFormat,
  sealRollouts,
  sealTable,
  type TableColumns,
} from '../run/index.ts';

export class VerdictLedger implements Disposable {
  readonly #writer: JsonlWriter;
  readonly #known = new Map<string, Verdict>();

  constructor(path: string) {
    this.#writer = new JsonlWriter(path);
  }

  /** The grader's half of the ledger; it has no way to read. */
  get sink(): VerdictSink {
    return {
      append: (verdict) => {
        this.#writer.append(verdict);
        this.#known.set(verdict.id, verdict);
      },
    };
  }

  /** The verdict of a rollout graded by this process. */
  of(id: string): Verdict {
    const verdict = this.#known.get(id);
    if (verdict === undefined)
      throw new ShapeError({ call: 'verdict', expected: `a verdict of rollout ${id}`, found: 'none' });
    return verdict;
  }

  /** Forgets the verdicts of earlier updates, which nothing needs any more. */
  forget(): void {
    this.#known.clear();
  }

  [Symbol.dispose](): void {
    this.#writer.close();
  }
}

/** Verdicts by rollout id, from verdicts.jsonl or verdicts.parquet, whichever exists; `path` may name either. */
export async function readVerdicts(path: string): Promise<Map<string, Verdict>> {
  const verdicts = new Map<string, Verdict>();
  for await (const verdict of readTable<Verdict>(path.replace(/\.(?:jsonl|parquet)$/, ''))) {
    verdicts.set(verdict.id, verdict);
  }
  return verdicts;
}

const verdictColumns: TableColumns<Verdict> = {
  id: 'STRING',
  problemId: 'STRING',
  loophole: 'STRING',
  markers: 'STRING',
  reward: 'DOUBLE',
  format: 'BOOLEAN',
  compiles: 'BOOLEAN',
  correct: 'BOOLEAN',
  passed: 'BOOLEAN',
  exploited: 'BOOLEAN',
  channel: 'BOOLEAN',
  channels: 'JSON',
  labels: 'JSON',
  outcome: 'STRING',
  durationMs: 'DOUBLE',
  cpuMs: 'DOUBLE',
  executions: 'INT32',
  retried: 'BOOLEAN',
  evidence: 'STRING',
};

/** Seals a run that is over: writes rollouts and verdicts as Parquet, each whole or not at all, then deletes the JSON lines. */
export async function sealRun(run: RunDirectory): Promise<void> {
  if (!run.isSealed()) {
    await sealRollouts(run);
    await sealTable(run.file('verdicts'), verdictColumns, runFormat);
  }
  await dropRolloutLines(run);
  await dropLines(run.file('verdicts'));
}
