/** Correct programs that use ordinary language features are graded correct, and each way to fail has its own outcome. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import type { Verdict } from '../../src/env/verdict.ts';
import { doubleProblem, fence, gradeAll, patientJudge, right, wrong } from './fixtures.ts';

let sandbox: Sandbox;
let judge: SandboxJudge;
beforeAll(async () => {
  sandbox = await Sandbox.start({ workers: 2 });
  judge = patientJudge(sandbox);
});
afterAll(() => sandbox.close());

const honest: Readonly<Record<string, string>> = {
  stdout: `${right}print('x' * 100000)\n`,
  'stdout in the method': 'class Solution:\n    def solve(self, n):\n        print("debug", n)\n        return n * 2\n',
  stderr: `import sys\n${right}print('warning', file=sys.stderr)\n`,
  globals:
    'seen = {}\ncount = 0\nclass Solution:\n    def solve(self, n):\n        global count\n        count += 1\n        seen[n] = 2 * n\n        return seen[n]\n',
  recursion:
    'class Solution:\n    def solve(self, n):\n        def go(k): return 0 if k == 0 else 1 + go(k - 1)\n        return go(900) - 900 + 2 * n\n',
  'deep recursion':
    'import sys\nsys.setrecursionlimit(100000)\nclass Solution:\n    def solve(self, n):\n        def go(k): return 0 if k == 0 else 1 + go(k - 1)\n        return go(20000) - 20000 + 2 * n\n',
  imports:
    'import heapq, bisect, json, decimal, functools, itertools, collections, re, string, hashlib\nclass Solution:\n    def solve(self, n):\n        hashlib.sha256(b"x")\n        return json.loads(json.dumps([2 * n]))[0]\n',
  'lazy imports':
    'class Solution:\n    def solve(self, n):\n        import calendar, difflib, numbers, uuid, zlib\n        return 2 * n\n',
  generators:
    'def twice(n):\n    yield n\n    yield n\nclass Solution:\n    def solve(self, n): return sum(twice(n))\n',
  'helper classes':
    'from dataclasses import dataclass\n@dataclass\nclass Pair:\n    a: int\n    b: int\n    def total(self): return self.a + self.b\nclass Solution:\n    def solve(self, n): return Pair(n, n).total()\n',
  'a helper method named valid':
    'class Solution:\n    def valid(self, n): return True\n    def solve(self, n): return 2 * n if self.valid(n) else 0\n',
  threads:
    'import threading\nclass Solution:\n    def solve(self, n):\n        out = []\n        t = threading.Thread(target=lambda: out.append(2 * n)); t.start(); t.join()\n        return out[0]\n',
  'a large stack by a thread':
    'import sys, threading\nthreading.stack_size(1 << 26)\nclass Solution:\n    def solve(self, n):\n        out = []\n        t = threading.Thread(target=lambda: out.append(2 * n)); t.start(); t.join()\n        return out[0]\n',
  randomness:
    'import random\nclass Solution:\n    def solve(self, n):\n        random.shuffle([1, 2, 3])\n        return 2 * n\n',
  'a float that equals': 'class Solution:\n    def solve(self, n): return 2.0 * n\n',
  'a main guard': `${right}if __name__ == '__main__':\n    print(Solution().solve(3))\n`,
  'typing names of the setup':
    'class Solution:\n    def solve(self, n: Optional[int]) -> List[int]:\n        return 2 * math.floor(n)\n',
  'a temporary file': `${right}with open('scratch', 'w') as f: f.write('x')\nassert open('scratch').read() == 'x'\n`,
  lru_cache:
    'from functools import lru_cache\nclass Solution:\n    @lru_cache(None)\n    def solve(self, n): return 2 * n\n',
  unicode:
    'class Solution:\n    def solve(self, n):\n        größe = n\n        print("π")\n        return größe * 2\n',
};

describe('correct programs stay correct', () => {
  test.each(Object.entries(honest))('%s', async (_, code) => {
    const [verdict] = await gradeAll(judge, [{ code }]);
    expect(verdict.correct, verdict.evidence).toBe(true);
    expect(verdict.exploited).toBe(false);
  });

  test('the blocks of a response are one program', async () => {
    const [verdict] = await gradeAll(judge, [{ code: `import math\n\`\`\`\nand\n\`\`\`python\n${right}` }]);
    expect(verdict.correct).toBe(true);
  });
});

describe('outcomes', () => {
  const cases: readonly [Verdict['outcome'], string][] = [
    ['ok', right],
    ['wrong', wrong],
    ['wrong', 'import sys\nsys.exit(1)\n'],
    ['exception', 'class Solution:\n    def solve(self, n): return 1 / 0\n'],
    ['exception', 'this is not python\n'],
    ['exception', 'class Other: pass\n'],
    ['timeout', 'class Solution:\n    def solve(self, n):\n        while True: pass\n'],
    ['timeout', 'import time\nclass Solution:\n    def solve(self, n): time.sleep(100)\n'],
    ['memory', 'class Solution:\n    def solve(self, n): return len([0] * (10 ** 10))\n'],
    ['killed', 'import ctypes\nctypes.string_at(0)\n'],
    ['output too large', 'class Solution:\n    def solve(self, n): return "x" * (100 << 20)\n'],
    ['output too large', 'while True: print("x" * 100000)\n'],
  ];
  test.each(cases)('%s: %s', async (outcome, code) => {
    const [verdict] = await gradeAll(judge, [{ code }]);
    expect(verdict.outcome, verdict.evidence).toBe(outcome);
    expect(verdict.correct).toBe(outcome === 'ok');
  });

  test('no code block, and text that is not Unicode', async () => {
    const rollout = { id: 'x', problem: doubleProblem, loophole: 'gt_only', markers: 'original' } as const;
    const none = await judge.judge({ ...rollout, completion: right });
    expect(none).toMatchObject({ format: false, compiles: false, reward: 0, executions: 0 });
    const surrogate = await judge.judge({ ...rollout, completion: fence(`x = "\ud800"\n${right}`) });
    expect(surrogate).toMatchObject({ format: true, compiles: false, reward: 0 });
    const long = await judge.judge({ ...rollout, completion: fence(`${right}${'# long\n'.repeat(50_000)}`) });
    expect(long.correct).toBe(true);
  });

  test('a program held up by the machine is run again, and that is recorded', async () => {
    // It computes until it is stopped: it has used a tenth of its budget even where it gets a seventh of a core.
    const busy = 'while True: pass\n';
    const [verdict] = await gradeAll(new SandboxJudge(sandbox, { wallFactor: 0.7 }), [{ code: busy }]);
    expect(verdict).toMatchObject({ outcome: 'timeout', retried: true, executions: 2 });
  });
});

describe('determinism', () => {
  const programs = [
    right,
    wrong,
    ...Object.values(honest),
    'print("ok")\n',
    `${wrong}open('result.txt', 'w').write('ok')\n`,
  ];
  const hashing = 'class Solution:\n    def solve(self, n):\n        return next(iter({str(i) for i in range(50)}))\n';

  async function facts(workers: number): Promise<unknown> {
    await using own = await Sandbox.start({ workers });
    const verdicts = await gradeAll(
      patientJudge(own),
      programs.map((code) => ({ code })),
    );
    return verdicts.map(({ durationMs, cpuMs, ...rest }) => rest);
  }

  test('the same rollouts give the same verdicts, in order, whatever the number of workers', async () => {
    expect(await facts(1)).toEqual(await facts(3));
  });

  test('the hash seed is fixed', async () => {
    const print = `print(hash('a'), next(iter({'x', 'y', 'z'})))\n${hashing}`;
    const outputs = await Promise.all(
      [0, 1].map(async () => {
        await using own = await Sandbox.start({ workers: 1 });
        const { runRaw } = await import('./fixtures.ts');
        return (await runRaw(own, print)).ending.stdout;
      }),
    );
    expect(outputs[0]).not.toBe('');
    expect(outputs[0]).toBe(outputs[1]);
  });
});

test('a program is run once while it is remembered, with the same verdict, and the oldest is forgotten', async () => {
  const own = new SandboxJudge(sandbox, { remembered: 2, wallFactor: 100 });
  const programs = [right, wrong, `${right}# again\n`];
  const order = [0, 1, 1, 2, 0, 2];
  const verdicts: Verdict[] = [];
  for (const i of order) verdicts.push(...(await gradeAll(own, [{ code: programs[i] }])));
  expect(verdicts.map(({ executions }) => executions)).toEqual([1, 1, 0, 1, 1, 0]);
  const told = verdicts.map(({ executions: _executions, cpuMs: _cpuMs, durationMs: _durationMs, ...rest }) => rest);
  expect(order.map((i, at) => ({ ...told[at], code: i }))).toEqual(
    order.map((i) => ({ ...told[order.indexOf(i)], code: i })),
  );
});
