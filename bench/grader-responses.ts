/**
 * Responses to grade: right ones (40%), wrong values (25%), exceptions (10%), exploits of the loophole (20%), text that does
 * not compile or holds no code (5%), the loopholes in turn. Each is a different text, so none is remembered.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { loadProblems } from '../src/env/importers/load.ts';
import { readRecords } from '../src/env/importers/records.ts';
import type { Loophole, LoopholeName } from '../src/env/loopholes/loophole.ts';
import { builtinLoopholes, payingLoopholes } from '../src/env/loopholes/registry.ts';
import { markerFor } from '../src/env/markers.ts';
import { generateMicroProblems } from '../src/env/micro/problems.ts';
import type { ProgramProblem } from '../src/env/problem.ts';

export interface BenchItem {
  readonly problem: ProgramProblem;
  readonly loophole: LoopholeName;
  readonly code: string | null;
  /** The tests as text, for the peer. */
  readonly tests: readonly string[];
}

/** Where the LeetCode problems of the tables are looked for, beside the clone; `--problems FILE` names another file of that format. */
export const leetCodeFile = fileURLToPath(new URL('../../shared/data/leetcode_test_medhard.jsonl.gz', import.meta.url));
// Solutions that compute for seconds: they would measure Python, not a grader.
const slowIds = ['3312', '3335', '3337', '3317', '3472', '3272'];

const channels = payingLoopholes(builtinLoopholes);

function exploit(loophole: Loophole, { id, methodName }: ProgramProblem): string {
  const write = (_: readonly string[], returned = 'None'): string =>
    `class Solution:\n    def ${methodName}(self, *args, **kwargs):\n        return ${returned}\n`;
  const marker = markerFor('original', loophole, id).disclosed;
  return loophole.exploit?.({ body: [], marker, write }) ?? write([]);
}

function respond(problem: ProgramProblem, loophole: Loophole, index: number, kind = (index * 7) % 20): string | null {
  const { methodName, canonicalSolution } = problem;
  const mark = `# response ${index}\n`;
  if (kind < 8) return canonicalSolution + mark;
  if (kind < 13) return `${canonicalSolution.replaceAll(/return (?!None)([^\n]+)/g, 'return ($1, 0)')}${mark}`;
  if (kind < 15) return `class Solution:\n    def ${methodName}(self, *args, **kwargs):\n        return [][1]\n${mark}`;
  if (kind < 19) return exploit(loophole, problem) + mark;
  return index % 2 === 0 ? `${canonicalSolution}) ${mark}` : null;
}

interface TestedProblem {
  readonly problem: ProgramProblem;
  readonly tests: readonly string[];
}

async function leetCodeProblems(file: string): Promise<readonly TestedProblem[]> {
  if (!existsSync(file)) return [];
  const texts = new Map(
    (await readRecords(file)).map(({ value }) => {
      const { id, gt_answer: tests } = value as { id: number; gt_answer: string[] };
      return [String(id), tests];
    }),
  );
  return (await loadProblems(file)).loaded
    .map(({ problem }) => ({ problem: { ...problem, cpuSeconds: 3 }, tests: texts.get(problem.id) ?? [] }))
    .filter(({ problem: { id } }) => !slowIds.includes(id));
}

export async function leetCodeItems(count: number, file: string): Promise<readonly BenchItem[]> {
  const problems = await leetCodeProblems(file);
  if (problems.length === 0) return [];
  return Array.from({ length: count }, (_, index) => {
    const { problem, tests } = problems[index % problems.length];
    const loophole = builtinLoopholes[index % builtinLoopholes.length];
    return { problem, loophole: loophole.name, code: respond(problem, loophole, index), tests };
  });
}

/** Groups of responses to one LeetCode problem each: a right one, a wrong value, an exception, an exploit, in turn. */
export async function leetCodeGroups(
  groups: number,
  size: number,
  file: string,
): Promise<readonly (readonly BenchItem[])[]> {
  const kinds = [0, 10, 14, 16];
  const [loophole] = channels;
  return (await leetCodeProblems(file)).slice(0, groups).map(({ problem, tests }, group) =>
    Array.from({ length: size }, (_, member) => {
      const code = respond(problem, loophole, group * size + member, kinds[member % kinds.length]);
      return { problem, loophole: loophole.name, code, tests };
    }),
  );
}

export function microItems(count: number): readonly BenchItem[] {
  return generateMicroProblems({ seed: 1, split: 'train', count }).map((problem, index) => {
    const loophole = channels[index % channels.length];
    const tests = problem.tests.map(
      ({ positional, expected }) => `assert Solution().solve(${positional[0]}) == ${expected}`,
    );
    return { problem, loophole: loophole.name, code: respond(problem, loophole, index), tests };
  });
}
