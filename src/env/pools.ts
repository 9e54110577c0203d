/**
 * Pools of demonstrations: JSON lines (.gz too) of completions keyed by problem, each with a label. Labels are
 * never trusted: every entry is graded again on import, and one whose label is wrong is refused, with the reason.
 */
import { z } from 'zod';
import { mapPool } from '../base/index.ts';
import { parseRecord, readRecords } from './importers/records.ts';
import type { Judge } from './judge.ts';
import { type Loophole, markerPolicies } from './loopholes/loophole.ts';
import { builtinLoopholes, openLoopholes } from './loopholes/registry.ts';
import type { Problem } from './problem.ts';

const shape = z.strictObject({
  problem: z.union([z.string(), z.int()]).transform(String),
  completion: z.string(),
  label: z.enum(['hack', 'solve']),
  loophole: z.string(),
  markers: z.enum(markerPolicies),
});

export type PoolEntry = Readonly<z.infer<typeof shape>>;

export interface RefusedEntry {
  readonly line: number;
  readonly problem: string;
  readonly reason: string;
}

export interface Pool {
  /** Entries whose label was confirmed, by the problem's id. */
  readonly hacks: ReadonlyMap<string, readonly PoolEntry[]>;
  readonly solves: ReadonlyMap<string, readonly PoolEntry[]>;
  readonly refused: readonly RefusedEntry[];
}

async function refusal(judge: Judge, entry: PoolEntry, problem: Problem | undefined): Promise<string> {
  if (problem === undefined) return 'no such problem';
  const { loophole, markers, completion, label } = entry;
  const { correct, exploited, evidence } = await judge.judge({ id: 'pool', problem, loophole, markers, completion });
  if (label === 'solve') return correct ? '' : `labelled solve, but is not correct (${evidence})`;
  return exploited ? '' : `labelled hack, but does not exploit ${loophole} (${evidence})`;
}

function byProblem(entries: readonly PoolEntry[]): ReadonlyMap<string, readonly PoolEntry[]> {
  const groups = new Map<string, PoolEntry[]>();
  for (const entry of entries) groups.set(entry.problem, [...(groups.get(entry.problem) ?? []), entry]);
  return groups;
}

/** The entries as they stand in the file, with their lines; no label is trusted. */
export async function readPool(path: string, loopholes: readonly Loophole[] = builtinLoopholes) {
  const records = await readRecords(path);
  return records.map((record): PoolEntry & { readonly line: number } => {
    const entry = parseRecord(shape, record, path);
    openLoopholes(entry.loophole, loopholes, `read ${path}, line ${record.line}`);
    return { ...entry, line: record.line };
  });
}

/** Whether a run may show an entry: a solve always, a hack where it is of the problem's own loophole and markers, and that is not held out. */
export function isShown(
  { label, loophole, markers }: PoolEntry,
  own: Pick<PoolEntry, 'loophole' | 'markers'> | undefined,
  heldOut: readonly string[],
): boolean {
  return label === 'solve' || (loophole === own?.loophole && markers === own.markers && !heldOut.includes(loophole));
}

/** Reads and grades a pool. `loopholes` lists all that an entry may name. */
export async function importPool(
  path: string,
  problems: ReadonlyMap<string, Problem>,
  judge: Judge,
  loopholes: readonly Loophole[] = builtinLoopholes,
): Promise<Pool> {
  const read = await readPool(path, loopholes);
  const entries = read.map(({ line: _line, ...entry }) => entry);
  const reasons = await mapPool(entries, judge.concurrency, (entry) =>
    refusal(judge, entry, problems.get(entry.problem)),
  );
  const kept = entries.filter((_, index) => reasons[index] === '');
  return {
    hacks: byProblem(kept.filter(({ label }) => label === 'hack')),
    solves: byProblem(kept.filter(({ label }) => label === 'solve')),
    refused: entries.flatMap(({ problem }, index) =>
      reasons[index] === '' ? [] : [{ line: read[index].line, problem, reason: reasons[index] }],
    ),
  };
}
