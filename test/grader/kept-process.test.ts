/** Straight-line programs share a process: what is found is what a process of their own would give, and nobody else comes there. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Execution, prepareProblem } from '../../src/env/execution.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { gradeAll, patientJudge, bareProblem as problem, right, wrong } from './fixtures.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.start({ workers: 1 });
});
afterAll(() => sandbox.close());

const runTests = 'def run_tests():\n    pass\n';
const programs = [
  right,
  wrong,
  right + runTests,
  wrong + runTests,
  `${right}def run_tests():\n    return self\n`,
  'class Solution:\n    def solve(self, n):\n',
  'class Solution:\n    def solve(self, n):\n        return self\n',
  'class Solution:\n    def solve(self, n):\n        return n % 0\n',
  'class Solution:\n    def solve(self, n):\n        n += self\n        return n\n',
  'class Solution:\n    def solve(self):\n        return 1\n',
  'class Solution:\n    def other(self, n):\n        return n\n',
  'def Solution():\n    return 1\n',
  'class return:\n    def solve(self, n):\n        return n\n',
  'class Solution:\n    def solve(self, n):\n        return n + n\n    def solve(self, n):\n        return n\n',
];

/** Runs a source as a straight-line program, whatever it is, and returns its process's number with how it ended. */
async function runAs(isStraightLine: boolean, source: string) {
  const prepared = prepareProblem(problem);
  return await sandbox.execute(() => ({ ...new Execution(prepared).program(source, [], 1, 60_000), isStraightLine }));
}

const whoAmI = `import os\nprint(os.getpid())\n${right}`;

describe('a kept process', () => {
  test('gives the verdicts that a process of its own gives', async () => {
    const judge = patientJudge(sandbox);
    const request = (code: string) => ({ code, problem, loophole: 'run_tests' }) as const;
    const facts = async (codes: readonly string[]) =>
      (await gradeAll(judge, codes.map(request))).map(({ durationMs: _, cpuMs: __, ...verdict }) => verdict);
    // With a comment it is no straight-line program any more.
    expect(await facts(programs)).toEqual(await facts(programs.map((code) => `${code}# alone\n`)));
  });

  test('serves one straight-line program after another, and ends before any other program begins', async () => {
    const first = await runAs(true, whoAmI);
    const second = await runAs(true, whoAmI);
    expect(second.stdout).toBe(first.stdout);
    const alone = await runAs(false, whoAmI);
    const after = await runAs(true, whoAmI);
    expect(new Set([first.stdout, alone.stdout, after.stdout]).size).toBe(3);
  });

  test('is hidden from other programs: they hold none of its descriptors and cannot read what it reads', async () => {
    const look =
      'import os\nfor fd in range(3, 64):\n    try: os.fstat(fd)\n    except OSError: continue\n    print(fd)\n';
    await runAs(true, right);
    expect((await runAs(false, look + right)).stdout).toBe('4\n5\n');
    expect((await runAs(true, look + right)).stdout.split('\n').slice(0, 2)).toEqual(['4', '5']);
  });

  test('that does not end well decides nothing: the program runs again in a process of its own', async () => {
    const [kept] = [await runAs(true, whoAmI)];
    const ending = await runAs(true, `${whoAmI}import os\nos._exit(3)\n`);
    expect(ending.exit).toBe(3);
    expect(ending.stdout).not.toContain(kept.stdout);
    expect((await runAs(true, right)).exit).toBe(0);
    expect(sandbox.replaced).toBe(0);
  });

  /** Runs straight-line programs one after the other: how often a program was begun, and how many gave their three right outputs. */
  async function runMany(sources: readonly string[], budgets: readonly number[]) {
    const prepared = prepareProblem(problem);
    let begun = 0;
    let correct = 0;
    for (const [index, source] of sources.entries()) {
      let run = new Execution(prepared);
      await sandbox.execute(() => {
        begun += 1;
        run = new Execution(prepared);
        return { ...run.program(source, [], budgets[index % budgets.length], 60_000), isStraightLine: true };
      });
      correct += run.correct ? 1 : 0;
    }
    return { begun, correct, replaced: sandbox.replaced };
  }

  test('loses no program to another budget', async () => {
    const sources = Array.from({ length: 120 }, () => right);
    expect(await runMany(sources, [1, 2, 20])).toEqual({ begun: 120, correct: 120, replaced: 0 });
  });

  test('loses no program to its age', async () => {
    const sources = Array.from({ length: 1_100 }, () => right);
    expect(await runMany(sources, [1])).toEqual({ begun: 1_100, correct: 1_100, replaced: 0 });
  });

  test('loses no program to the CPU time that it has used', async () => {
    // A product of this many digits takes about a hundredth of a second; what it gives is taken away again.
    const busy = `class Solution:\n    def solve(self, n):\n        m = 999999999\n${'        m *= m\n'.repeat(14)}        return n + n + m - m\n`;
    const sources = Array.from({ length: 60 }, () => busy);
    expect(await runMany(sources, [20])).toEqual({ begun: 60, correct: 60, replaced: 0 });
  });
});
