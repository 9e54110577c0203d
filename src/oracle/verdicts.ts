/**
 * The only reader of verdicts. The grader is given the writing half (`append`); the reading half stays on this side of the
 * wall, for the oracle gate, for the figures shown while training, and for analysis.
 */

import { ShapeError } from '../base/index.ts';
import { followJsonl, type JsonlFollower, JsonlWriter } from '../base/node/index.ts';
import type { Judge, Verdict, VerdictSink } from '../env/index.ts';
import {
  type ColumnBlock,
  checkpointHashes,
  dropLines,
  dropRolloutLines,
  expectAllSealed,
  expectGrownFile,
  expectOpen,
  type RunDirectory,
  readColumns,
  readTable,
  runFormat,
  sealRollouts,
  sealTable,
  type TableColumns,
  writeSeal,
} from '../run/index.ts';

export class VerdictLedger implements Disposable {
  readonly #writer: JsonlWriter | null;
  readonly #known = new Map<string, Verdict>();

  /** `path`: the file that keeps the verdicts; null: nothing is kept, where nothing is trained or another rank writes. */
  constructor(path: string | null) {
    this.#writer = path === null ? null : new JsonlWriter(path);
  }

  /** The grader's half of the ledger; it has no way to read. */
  get sink(): VerdictSink {
    return {
      append: (verdict) => {
        this.#writer?.append(verdict);
        this.#known.set(verdict.id, verdict);
      },
    };
  }

  /** The judge by whose verdicts a pool of demonstrations is chosen: its verdicts are told as this ledger tells all others. */
  tell(judge: Judge): Judge {
    return judge;
  }

  /** The verdicts of another run by rollout id, told as this ledger tells all others. */
  read(run: RunDirectory): Promise<Map<string, Verdict>> {
    return readRunVerdicts(run);
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
    this.#writer?.close();
  }
}

/** The verdicts of a run by rollout id. A file that is not as the seal of the run or its last checkpoint says is refused. */
export async function readRunVerdicts(run: RunDirectory): Promise<Map<string, Verdict>> {
  expectOpen(run.path, `read the labels of ${run.path}`);
  if (!run.isSealed()) expectGrownFile(run, 'verdicts.jsonl');
  return readVerdicts(run.file('verdicts'));
}

/** The verdicts of a run that is not over, as they are written. */
export function followVerdicts(run: RunDirectory): JsonlFollower {
  expectOpen(run.path, `read the labels of ${run.path}`);
  expectGrownFile(run, 'verdicts.jsonl');
  return followJsonl(run.ledger('verdicts'));
}

/** Some columns of the verdicts of a run that is over, in blocks; they need not be in the order of the rollouts. */
export function readVerdictColumns<Name extends keyof Verdict>(
  run: RunDirectory,
  names: readonly Name[],
): AsyncGenerator<ColumnBlock<Pick<Verdict, Name>>> {
  expectOpen(run.path, `read the labels of ${run.path}`);
  return readColumns<Pick<Verdict, Name>>(run.file('verdicts'), names);
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

/**
 * Seals a run that is over: writes rollouts and verdicts as Parquet, each whole or not at all, then the hashes of all that will not
 * change any more, then deletes the JSON lines. A run that is sealed already is checked against its seal.
 */
export async function sealRun(run: RunDirectory): Promise<void> {
  if (run.isSealed()) expectAllSealed(run.path);
  else {
    await sealRollouts(run);
    await sealTable(run.file('verdicts'), verdictColumns, runFormat);
    await writeSeal(run.path, run.listCheckpoints().at(-1) ?? null, checkpointHashes(run));
  }
  await dropRolloutLines(run);
  await dropLines(run.file('verdicts'));
}
