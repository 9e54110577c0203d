/**
 * The only reader of verdicts. The grader is given the writing half (`append`); the reading half stays on this side of the
 * wall, for the oracle gate, for the figures shown while training, and for analysis.
 */
import { ShapeError } from '../base/index.ts';
import { JsonlWriter } from '../base/node/index.ts';
import type { Judge, Verdict, VerdictSink } from '../env/index.ts';
import {
  blockRows,
  checkpointHashes,
  dropLines,
  expectAllSealed,
  expectGrownFile,
  expectOpen,
  makeRow,
  openRollouts,
  openTable,
  type RunDirectory,
  rolloutColumns,
  sealTable,
  writeSeal,
} from '../run/index.ts';
import { verdictColumns } from './judged/columns.ts';
import { type JudgedOptions, JudgedTable } from './judged/table.ts';

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
        this.#writer?.append(makeRow(verdictColumns, verdict));
        this.#known.set(verdict.id, verdict);
      },
    };
  }

  /** The judge by whose verdicts a pool of demonstrations is chosen: its verdicts are told as this ledger tells all others. */
  tell(judge: Judge): Judge {
    return judge;
  }

  /** The rollouts of another run with their verdicts, told as this ledger tells all others. */
  read(run: RunDirectory): Promise<JudgedTable> {
    return openJudged(run);
  }

  of(id: string): Verdict {
    const verdict = this.#known.get(id);
    if (verdict === undefined)
      throw new ShapeError({ call: 'verdict', expected: `a verdict of rollout ${id}`, found: 'none' });
    return verdict;
  }

  forget(): void {
    this.#known.clear();
  }

  [Symbol.dispose](): void {
    this.#writer?.close();
  }
}

/**
 * The rollouts of a run with their verdicts, whether it is over or not. A file that is not as the seal of the run or its last checkpoint
 * says is refused.
 */
export async function openJudged(run: RunDirectory, options: JudgedOptions = {}): Promise<JudgedTable> {
  expectOpen(run.path, `read the labels of ${run.path}`);
  const rollouts = await openRollouts(run);
  if (!run.isSealed()) await expectGrownFile(run, 'verdicts.jsonl');
  return new JudgedTable(run.path, rollouts, await openTable<Verdict>(run.file('verdicts')), options);
}

export async function readVerdicts(path: string): Promise<Map<string, Verdict>> {
  const table = await openTable<Verdict>(path.replace(/\.(?:jsonl|parquet)$/, ''));
  const verdicts = new Map<string, Verdict>();
  for await (const block of table.blocks(Object.keys(verdictColumns) as (keyof Verdict)[])) {
    for (const verdict of blockRows(block)) verdicts.set(verdict.id, verdict);
  }
  return verdicts;
}

/**
 * Seals a run that is over: writes rollouts and verdicts as Parquet, each whole or not at all, then the hashes of all that will not
 * change any more, then deletes the JSON lines. A run that is sealed already is checked against its seal.
 */
export async function sealRun(run: RunDirectory): Promise<void> {
  if (run.isSealed()) expectAllSealed(run.path);
  else {
    await sealTable(run.file('rollouts'), rolloutColumns);
    await sealTable(run.file('verdicts'), verdictColumns);
    await writeSeal(run.path, run.listCheckpoints().at(-1) ?? null, checkpointHashes(run));
  }
  await dropLines(run.file('rollouts'));
  await dropLines(run.file('verdicts'));
}
