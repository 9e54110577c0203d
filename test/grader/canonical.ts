/** Grades canonical solutions of the benchmark's 119-problem test file in every loophole. */
import { fileURLToPath } from 'node:url';
import { loadProblems } from '../../src/env/importers/load.ts';
import { builtinLoopholes, namesOf } from '../../src/env/loopholes/registry.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import { gradeAll } from './fixtures.ts';

export const benchmarkFile = fileURLToPath(
  new URL('../../../shared/data/leetcode_test_medhard.jsonl.gz', import.meta.url),
);

/** Problems whose canonical solution takes more than a second of CPU. */
export const slowIds = ['3312', '3335', '3337', '3317', '3472', '3272'];

export interface CanonicalReport {
  readonly problems: number;
  readonly tests: number;
  /** One text per failure: problem, loophole and reason. */
  readonly unsound: readonly string[];
}

export async function findUnsound(wanted: (id: string) => boolean): Promise<CanonicalReport> {
  const { loaded, refused } = await loadProblems(benchmarkFile);
  const problems = loaded.map(({ problem }) => ({ ...problem, cpuSeconds: 20 })).filter(({ id }) => wanted(id));
  await using sandbox = await Sandbox.start({ workers: 2 });
  const requests = problems.flatMap((problem) =>
    namesOf(builtinLoopholes).map((loophole) => ({ code: problem.canonicalSolution, loophole, problem })),
  );
  const verdicts = await gradeAll(new SandboxJudge(sandbox), requests);
  const bad = verdicts.filter(({ correct, exploited, reward }) => !correct || exploited || reward !== 3.5);
  return {
    problems: problems.length,
    tests: problems.reduce((sum, { tests }) => sum + tests.length, 0),
    unsound: [
      ...refused.map(({ id, reason }) => `${id}: ${reason}`),
      ...bad.map(({ problemId, loophole, evidence }) => `${problemId} ${loophole}: ${evidence}`),
    ],
  };
}
