/** Loads a problem file in either format, told by its fields. A problem that cannot be used is refused, with the reason. */
import { UserError } from '../../base/index.ts';
import type { ProgramProblem } from '../problem.ts';
import { UnreadableTest } from '../test-cases.ts';
import { importBenchmark, isBenchmarkRecord } from './benchmark.ts';
import { importLeetCodeDataset, isLeetCodeDatasetRecord } from './leetcode-dataset.ts';
import { readSoundRecords, type SourceRecord, throwFaults } from './records.ts';

export interface LoadedProblem {
  readonly problem: ProgramProblem;
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

function importRecord(record: SourceRecord, path: string): ProgramProblem {
  if (isBenchmarkRecord(record.value)) return importBenchmark(record, path);
  if (isLeetCodeDatasetRecord(record.value)) return importLeetCodeDataset(record, path);
  throw new UserError({
    call: `read ${path}, line ${record.line}`,
    expected:
      'a benchmark record (id, prompt, gt_answer, setup_code, func_name, canonical_solution, difficulty) or a LeetCodeDataset record (task_id, prompt, completion, entry_point, test, input_output, meta)',
    found: describeFields(record.value),
    fix: 'docs/formats.md has an example of each.',
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
  const { records, faults: unread } = await readSoundRecords(path);
  const faults = [...unread];
  for (const record of records) {
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
      if (error instanceof UserError) faults.push(error);
      else if (error instanceof UnreadableTest) {
        refused.push({ id: nameOf(record), line: record.line, reason: error.message });
      } else throw error;
    }
  }
  throwFaults(path, faults);
  return { loaded, refused };
}
