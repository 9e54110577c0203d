/** Loads a problem file in either format, told by its fields. A problem that cannot be used is refused, with the reason. */
import { UserError } from '../../base/index.ts';
import type { Problem } from '../problem.ts';
import { UnreadableTest } from '../test-cases.ts';
import { importBenchmark, isBenchmarkRecord } from './benchmark.ts';
import { importLeetCodeDataset, isLeetCodeDatasetRecord } from './leetcode-dataset.ts';
import { readRecords, type SourceRecord } from './records.ts';

export interface LoadedProblem {
  readonly problem: Problem;
  readonly record: SourceRecord;
}

export interface RefusedProblem {
  readonly id: string;
  readonly line: number;
  readonly reason: string;
}

export interface LoadedProblems {
  readonly loaded: readonly LoadedProblem[];
  readonly refused: readonly RefusedProblem[];
}

function describeFields(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : `a ${typeof value}`;
  return `fields ${Object.keys(value).slice(0, 20).join(', ').slice(0, 200)}`;
}

function importRecord(record: SourceRecord, path: string): Problem {
  if (isBenchmarkRecord(record.value)) return importBenchmark(record, path);
  if (isLeetCodeDatasetRecord(record.value)) return importLeetCodeDataset(record, path);
  throw new UserError({
    call: `read ${path}, line ${record.line}`,
    expected: 'a benchmark record (gt_answer, func_name) or a LeetCodeDataset record (task_id, entry_point)',
    found: describeFields(record.value),
  });
}

function nameOf({ value, line }: SourceRecord): string {
  const { id, task_id: taskId } = value as { id?: unknown; task_id?: unknown };
  return String(id ?? taskId ?? `line ${line}`);
}

export async function loadProblems(path: string): Promise<LoadedProblems> {
  const loaded: LoadedProblem[] = [];
  const refused: RefusedProblem[] = [];
  const seen = new Map<string, number>();
  for (const record of await readRecords(path)) {
    try {
      const problem = importRecord(record, path);
      const before = seen.get(problem.id);
      if (before !== undefined) {
        throw new UserError({
          call: `read ${path}, line ${record.line}`,
          expected: 'ids that differ',
          found: `id ${problem.id}, as on line ${before}`,
        });
      }
      seen.set(problem.id, record.line);
      loaded.push({ problem, record });
    } catch (error) {
      if (!(error instanceof UnreadableTest)) throw error;
      refused.push({ id: nameOf(record), line: record.line, reason: error.message });
    }
  }
  return { loaded, refused };
}
