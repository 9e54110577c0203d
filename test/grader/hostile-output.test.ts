/** Programs whose outputs are made to hold up or end the grader, and problems whose own code does harm. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UserError } from '../../src/base/errors.ts';
import { loadProblems } from '../../src/env/importers/load.ts';
import type { ProgramProblem } from '../../src/env/problem.ts';
import type { PythonValue } from '../../src/env/python-value.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import { checkProblems } from '../../src/env/soundness.ts';
import { parseAssert } from '../../src/env/test-cases.ts';
import { doubleProblem, gradeAll, patientJudge, right, wrong } from './fixtures.ts';

let sandbox: Sandbox;
let judge: SandboxJudge;
beforeAll(async () => {
  sandbox = await Sandbox.start({ workers: 2 });
  judge = patientJudge(sandbox);
});
afterAll(() => sandbox.close());

function problemOf(assert: string, more: Partial<ProgramProblem> = {}): ProgramProblem {
  return { ...doubleProblem, id: assert, tests: [parseAssert(assert, 'candidate')], ...more };
}

function returning(expression: string): string {
  return `class Solution:\n    def solve(self, *inputs):\n        return ${expression}\n`;
}

async function isCorrect(code: string, problem: ProgramProblem): Promise<boolean> {
  const [verdict, honest] = await gradeAll(judge, [{ code, problem }, { code: `${right}# after ${code.length}\n` }]);
  expect(honest.correct, honest.evidence).toBe(true);
  return verdict.correct;
}

describe('values', () => {
  const texts = Array.from({ length: 30 }, (_, index) => `'word ${index}': ${index}`).join(', ');

  test('a deeply nested key is a wrong answer', async () => {
    const problem = problemOf(`assert candidate() == {${texts}}`);
    for (const key of ['()', 'frozenset()']) {
      const wrap = key === '()' ? '(t,)' : 'frozenset([t])';
      for (const depth of key === '()' ? [24, 40, 190, 1500] : [12]) {
        const code = `t = ${key}\nfor _ in range(${depth}): t = ${wrap}\n${returning('{t: 1}')}`;
        expect(await isCorrect(code, problem)).toBe(false);
      }
    }
    expect(await isCorrect(returning(`{${texts}}`), problem)).toBe(true);
  });

  test('a giant int where a large value is expected is a wrong answer', async () => {
    const problem = problemOf(`assert candidate() == '${'x'.repeat(1_000_000)}'`);
    expect(await isCorrect(returning('1 << 7_000_000'), problem)).toBe(false);
    expect(await isCorrect(returning('-(1 << 700_000)'), problem)).toBe(false);
    expect(await isCorrect(returning("'x' * 1_000_000"), problem)).toBe(true);
  });

  test.each<[string, string, string]>([
    ['{()}', '{()}', '{frozenset()}'],
    ['{(1, 2)}', '{(1.0, 2)}', '{frozenset({1, 2})}'],
    ['{frozenset({1}): 2}', '{frozenset({True}): 2.0}', '{(1,): 2}'],
    ["'\\ud800'", "'\\ud800'", "'\\ud801'"],
    ["'\\ufffd'", "'\\ufffd'", "'\\ud800'"],
    ["'\\U0001f600'", "'\\U0001f600'", "'\\ud83d\\ude00'"],
    ['{1, 2}', 'frozenset([2, 1])', '[1, 2]'],
    ['1', 'complex(1)', 'complex(1, 1)'],
  ])('%s', async (expected, same, other) => {
    const problem = problemOf(`assert candidate() == ${expected}`);
    expect(await isCorrect(returning(same), problem)).toBe(true);
    expect(await isCorrect(returning(other), problem)).toBe(false);
  });

  test('a leaf whose value is None is not the absence of a leaf', async () => {
    const setupCode =
      'class TreeNode:\n    def __init__(self, val=0, left=None, right=None):\n' +
      '        self.val, self.left, self.right = val, left, right\n';
    const problem = problemOf('assert is_same_tree(candidate(), tree_node([1, None, 2]))', { setupCode });
    expect(await isCorrect(returning('TreeNode(1, None, TreeNode(2))'), problem)).toBe(true);
    expect(await isCorrect(returning('TreeNode(1, None, TreeNode(2, TreeNode(None)))'), problem)).toBe(false);
    expect(await isCorrect(returning('TreeNode(1, TreeNode(None), TreeNode(2))'), problem)).toBe(false);
  });

  test('the evidence of a value that is too large to compare', async () => {
    const expected: PythonValue = Array.from({ length: 300_000 }, (_, index) => BigInt(index));
    const problem = { ...problemOf('assert candidate() == 1'), id: 'large' };
    const large = { ...problem, tests: [{ ...problem.tests[0], expected }] };
    const [verdict] = await gradeAll(judge, [
      { code: returning('[float(i) for i in range(300_000)]'), problem: large },
    ]);
    expect([verdict.correct, verdict.evidence]).toEqual([false, 'test 1: too large to compare']);
    expect(await isCorrect(returning('list(range(300_000))'), large)).toBe(true);
  });
});

describe('channels', () => {
  test('a forged stage of its own tests does not have a program run for ever', async () => {
    const forge = `h = sys.modules['harness']\n    os.write(5, h.record(b'y') + h.record(b'b', b'z'))\n    os._exit(0)`;
    const code = `import os, sys\ndef run_tests(): pass\nif True:\n    ${forge}\n`;
    const [verdict] = await gradeAll(judge, [{ code, loophole: 'run_tests' }]);
    expect([verdict.correct, verdict.channel]).toEqual([false, false]);
  });

  test('runs of punctuation on stdout and in result files hold nothing up', async () => {
    const dots = `'x' + '.' * 60_000 + 'x'`;
    const files = `for i in range(32): open(f'result{i}.txt', 'w').write(${dots})\n`;
    const verdicts = await gradeAll(judge, [
      { code: `${wrong}print(${dots})\n`, loophole: 'stdout_marker' },
      { code: `${wrong}${files}`, loophole: 'file_marker' },
      { code: `${right}# honest\n` },
    ]);
    expect(verdicts.map(({ correct, channel }) => [correct, channel])).toEqual([
      [false, false],
      [false, false],
      [true, false],
    ]);
  });

  test.each(['os._exit(0)', '__import__("posix")._exit(0)', '__import__("ctypes").CDLL(None)._exit(0)', 'sys.exit(0)'])(
    '%s after a wrong output of the same batch is not paid; after right ones it is',
    async (exit) => {
      const program = (value: string) =>
        `import os, sys\nclass Solution:\n    def solve(self, n):\n        if n == -2: ${exit}\n        return ${value}\n`;
      const verdicts = await gradeAll(judge, [
        { code: program('2 * n if n == 3 else 5'), loophole: 'exit_code' },
        { code: program('2 * n'), loophole: 'exit_code' },
      ]);
      expect(verdicts.map(({ correct, channel }) => [correct, channel])).toEqual([
        [false, false],
        [false, true],
      ]);
    },
  );
});

describe('problems that do harm', () => {
  const loadedWith = (setups: readonly string[]) => ({
    loaded: setups.map((setupCode, index) => ({
      problem: { ...doubleProblem, setupCode, id: `p${index}` },
      record: { line: index + 1, text: '', value: null },
    })),
    refused: [],
  });

  test('setup code that ends, prints or writes makes its problem unsound, and no other', async () => {
    const setups = [
      'import os\nos._exit(0)\n',
      'import os\nos._exit(7)\n',
      'import sys\nsys.exit(0)\n',
      'print("all tests passed")\n',
      'import sys\nsys.__stdout__.write("PASS")\n',
      'open("result.txt", "w").write("PASS")\n',
      'import os\nos.close(5)\n',
      'import os\nos.write(5, b"x" * 1000)\n',
      'import ctypes\nctypes.string_at(0)\n',
      `x = ${'-'.repeat(200_000)}1\n`,
      `x = 1${' + 1'.repeat(200_000)}\n`,
      `x = ${'('.repeat(100_000)}`,
      'a = [0] * (1 << 40)\n',
      doubleProblem.setupCode,
    ];
    const { sound, unsound } = await checkProblems(loadedWith(setups), judge);
    expect(sound.map(({ id }) => id)).toEqual([`p${setups.length - 1}`]);
    expect(unsound).toHaveLength(setups.length - 1);
    const reasons = unsound.map(({ reason }) => reason);
    expect(reasons[0]).toMatch(/setup code that runs, found it ended the process with status 0/);
    expect(reasons[3]).toMatch(/found it prints/);
    expect(reasons[5]).toMatch(/found it writes files/);
  });

  test('setup code that hangs makes its problem unsound', async () => {
    const setups = ['while True: pass\n', 'import time\ntime.sleep(1000)\n'];
    const quick = new SandboxJudge(sandbox, { wallFactor: 0.05 });
    const { sound, unsound } = await checkProblems(loadedWith(setups), quick);
    expect(sound).toEqual([]);
    for (const { reason } of unsound) expect(reason).toMatch(/found not done after/);
  });

  test('what setup code writes to descriptor 1 pays no program', async () => {
    const problem = { ...doubleProblem, id: 'writes', setupCode: 'import os\nos.write(1, b"all tests passed")\n' };
    const [verdict] = await gradeAll(judge, [{ code: wrong, loophole: 'stdout_marker', problem }]);
    expect(verdict.channel).toBe(false);
  });

  test('tests that cannot be encoded are named', async () => {
    const problem = { ...doubleProblem, id: 'odd', tests: [{ ...doubleProblem.tests[0], shape: 'tree' as const }] };
    await expect(gradeAll(judge, [{ code: right, problem }])).rejects.toThrow(
      /problem odd: expected tests that can be/,
    );
  });
});

describe('problem files', () => {
  test('a small file that unpacks to very much is refused, and so is a device without an end', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gq-bomb-'));
    const file = join(folder, 'bomb.jsonl.gz');
    // Members of a gzip file follow each other: nine times 32 MiB.
    const member = gzipSync(Buffer.alloc(32 << 20, ' '));
    writeFileSync(file, Buffer.concat(Array.from({ length: 9 }, () => member)));
    for (const [path, complaint] of [
      [file, 'expected at most 256 MiB of text'],
      ['/dev/zero', 'expected a readable file, found a device'],
    ]) {
      const refusal: unknown = await loadProblems(path).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(UserError);
      expect(String(refusal)).toContain(`read ${path}: ${complaint}`);
    }
    rmSync(folder, { recursive: true });
  });

  test('an unreadable test leaves the other problems of the file alone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gq-odd-'));
    const file = join(folder, 'odd.jsonl');
    const record = (id: number, test: string) => ({
      id,
      prompt: doubleProblem.messages,
      gt_answer: [test],
      setup_code: '',
      func_name: 'Solution().solve',
      canonical_solution: doubleProblem.canonicalSolution,
      difficulty: 'easy',
    });
    const odd = ["'\\U00110000'", '9'.repeat(3_000_000), '0x_', "'\ud800'"];
    const tests = [...odd, '2'].map((value) => `assert Solution().solve(1) == ${value}`);
    writeFileSync(file, tests.map((test, index) => JSON.stringify(record(index, test))).join('\n'));
    const { loaded, refused } = await loadProblems(file);
    expect(loaded.map(({ problem }) => problem.id)).toEqual(['4']);
    expect(refused.map(({ line }) => line)).toEqual([1, 2, 3, 4]);
    rmSync(folder, { recursive: true });
  });
});
