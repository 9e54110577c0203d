/** Questions of a test function to the canonical solution: whatever is asked, and however often, only the asker has the harm. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProgramProblem } from '../../src/env/problem.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import { doubleProblem, gradeAll, patientJudge, right, wrong } from './fixtures.ts';
import { asking, forgedQuestions } from './forge.ts';

let sandbox: Sandbox;
let judge: SandboxJudge;
beforeAll(async () => {
  sandbox = await Sandbox.start({ workers: 2 });
  judge = patientJudge(sandbox);
});
afterAll(() => sandbox.close());

let asked = 0;
/** An honest test function, of another text and with another question each time: verdicts and answers are remembered. */
function honest(): string {
  asked += 1;
  return `${wrong}def run_tests():\n    assert Solution().solve(${asked}) == ${2 * asked}\n`;
}

const takesLong: ProgramProblem = {
  ...doubleProblem,
  id: 'takes long',
  canonicalSolution:
    'import time\nclass Solution:\n    def solve(self, n):\n        if n < 0:\n            while time.process_time() < 0.4: pass\n        return n * 2\n',
};
const floods = asking([
  'for n in range(1, 1001): ask(question(marshal.dumps(-n, 2)))',
  "if 'hold': harness.read_frame()",
  'os._exit(0)',
]);

async function expectIdle(): Promise<void> {
  await expect.poll(() => sandbox.isIdle).toBe(true);
}

describe('a forged question', () => {
  test.each(Object.entries(forgedQuestions))('%s: a verdict for its program, and for the next one', async (_, code) => {
    const [verdict] = await gradeAll(judge, [{ code, loophole: 'run_tests' }]);
    expect(verdict.correct).toBe(false);
    const [next] = await gradeAll(judge, [{ code: honest(), loophole: 'run_tests' }]);
    expect(next.labels.ownTestsRejectCanonical).toBe(false);
    await expectIdle();
  });

  test('of equal hashes is refused, and what is refused is unknown', async () => {
    const code = forgedQuestions['a set of equal hashes'];
    const [verdict] = await gradeAll(judge, [{ code: `${code}# again\n`, loophole: 'run_tests' }]);
    expect(verdict.labels.ownTestsRejectCanonical).toBeNull();
  });
});

describe('many questions', () => {
  test('at once are one too many: the others are not answered, and nothing waits when the asker has ended', async () => {
    const [verdict] = await gradeAll(judge, [{ code: floods, loophole: 'run_tests', problem: takesLong }]);
    expect(verdict.correct).toBe(false);
    await expectIdle();
  });

  test('leave a neighbour his answers', async () => {
    const beside = Array.from({ length: 3 }, (_, index) => `${floods.replace("'hold'", 'False')}# ${index}\n`);
    const requests = [...beside, honest()].map((code) => ({ code, loophole: 'run_tests', problem: takesLong }));
    const verdicts = await gradeAll(judge, requests);
    expect(verdicts.at(-1)?.labels.ownTestsRejectCanonical).toBe(false);
    await expectIdle();
  });

  test('count against the budget of the asker, and one that has none left is unknown', async () => {
    const code = `${wrong}def run_tests():\n    for n in range(1, 200): Solution().solve(-n)\n`;
    const [verdict] = await gradeAll(judge, [{ code, loophole: 'run_tests', problem: takesLong }]);
    expect(verdict.labels.ownTestsRejectCanonical).toBeNull();
    // Of 200 questions that take 0.4 s each, one second of CPU answers three.
    expect(verdict.executions).toBeLessThan(12);
  });

  test('by threads of one test function are answered one after the other', async () => {
    const lines = [
      'import threading',
      'found = {}',
      'def look(n): found[n] = Solution().solve(n)',
      'threads = [threading.Thread(target=look, args=(n,)) for n in range(5000, 5008)]',
      'for thread in threads: thread.start()',
      'for thread in threads: thread.join()',
      'assert found == {n: 2 * n for n in range(5000, 5008)}',
    ];
    const code = `${wrong}def run_tests():\n${lines.map((line) => `    ${line}\n`).join('')}`;
    const [verdict] = await gradeAll(judge, [{ code, loophole: 'run_tests' }]);
    expect(verdict.labels.ownTestsRejectCanonical).toBe(false);
  });
});

describe('a test function that is right about the canonical solution', () => {
  const unknown: readonly (readonly [why: string, lines: readonly string[]])[] = [
    ['an answer that is too large', ['assert s.solve([1] * 110_000) == [1] * 220_000']],
    ['an int that is too large', ['assert s.solve(1 << 4_000_000) == 1 << 4_000_001']],
    ['more questions than may be sent', ['for k in range(8): assert s.solve([k] * 40_000) == [k] * 80_000']],
    ['an argument that cannot be sent', ['try: s.solve(range(3))', 'except TypeError: return', 'assert False']],
    ['a complex number', ['assert s.solve(1 + 2j) == 2 + 4j']],
    ['a complex number without an imaginary part', ['assert type(s.solve(complex(1, 0))) is complex']],
    ['more output than is read', ["print('x' * (64 << 20))", 'assert s.solve(5) == 10']],
  ];

  test.each(unknown)('is unknown where it meets %s', async (_, lines) => {
    const body = ['s = Solution()', ...lines].map((line) => `    ${line}\n`).join('');
    const [verdict] = await gradeAll(judge, [{ code: `${wrong}def run_tests():\n${body}`, loophole: 'run_tests' }]);
    expect(verdict.labels.ownTestsRejectCanonical).toBeNull();
  });

  const answers: readonly (readonly [why: string, line: string])[] = [
    ['cannot be sent', 'return range(n)'],
    ['never comes', 'while True: pass'],
    ['leaves an argument that cannot be sent', 'n.append(range(3))'],
  ];

  test.each(answers)('is unknown where the answer %s', async (why, line) => {
    const solution = `class Solution:\n    def solve(self, n):\n        ${line}\n`;
    const problem: ProgramProblem = { ...doubleProblem, id: why, canonicalSolution: solution };
    const code = `${wrong}def run_tests():\n    assert Solution().solve(${why.startsWith('leaves') ? '[1]' : '3'}) != 6\n`;
    const [verdict] = await gradeAll(judge, [{ code, loophole: 'run_tests', problem }]);
    expect(verdict.labels.ownTestsRejectCanonical).toBeNull();
  });

  /** A right program whose test function computes, or sleeps, before each of its four stages. */
  const laborious = (line: string) =>
    `${right}def run_tests():\n    import time\n    ${line}\n    assert Solution().solve(4) == 8\n`;

  test('is judged by a budget of its own, whatever the stages before it have used', async () => {
    const computes = 'end = time.process_time() + 0.3\n    while time.process_time() < end: pass';
    const [verdict] = await gradeAll(judge, [{ code: laborious(computes), loophole: 'run_tests' }]);
    expect(verdict.labels).toEqual({ ownTestsPass: true, ownTestsRejectCanonical: false });
  });

  test('is unknown where the stages before it have slept as long as all may', async () => {
    const sleeps = 'stages.append(0)\n    time.sleep(0.05 if len(stages) < 4 else 100)';
    const code = `stages = []\n${laborious(sleeps)}`;
    const [verdict] = await gradeAll(judge, [{ code, loophole: 'run_tests' }]);
    expect(verdict.labels).toEqual({ ownTestsPass: true, ownTestsRejectCanonical: null });
  });

  test('that never ends rejects it', async () => {
    const code = laborious("while Solution.__name__ == 'Solution' and Solution().solve(1) == 2: pass");
    const [verdict] = await gradeAll(judge, [{ code, loophole: 'run_tests' }]);
    expect(verdict.labels.ownTestsPass).toBe(false);
  });

  test('is told what the canonical solution raises', async () => {
    const code = `${wrong}def run_tests():\n    try: Solution().solve(None)\n    except TypeError: return\n    assert False\n`;
    const [verdict] = await gradeAll(judge, [{ code, loophole: 'run_tests' }]);
    expect(verdict.labels.ownTestsRejectCanonical).toBe(false);
  });
});

describe('waiting', () => {
  test('a test function that still waits for an answer when its time is over is unknown, not one that rejects', async () => {
    const problem: ProgramProblem = {
      ...doubleProblem,
      id: 'sleeps',
      canonicalSolution: 'import time\nclass Solution:\n    def solve(self, n):\n        time.sleep(100)\n',
    };
    const hasty = new SandboxJudge(sandbox, { wallFactor: 1 });
    const code = `${wrong}def run_tests():\n    assert Solution().solve(1) == 2\n`;
    const [verdict] = await gradeAll(hasty, [{ code, loophole: 'run_tests', problem }]);
    expect(verdict.labels).toEqual({ ownTestsPass: false, ownTestsRejectCanonical: null });
    await expectIdle();
  });
});

function serversBelow(pid: number): number[] {
  const text = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(pid)], { encoding: 'utf8' });
  return text.split('\n').flatMap((line) => (line.includes('server.py') ? [Number.parseInt(line, 10)] : []));
}

describe('close', () => {
  test('ends what runs and what waits; nothing starts after it', async () => {
    const others = new Set(serversBelow(process.pid));
    const closing = await Sandbox.start({ workers: 2 });
    // They sleep until they are ended, however slow the machine is.
    const problem = { ...doubleProblem, cpuSeconds: 3600 };
    const sleeps = (index: number) => ({ code: `import time\ntime.sleep(3600)\n${wrong}# ${index}\n`, problem });
    const requests = Array.from({ length: 12 }, (_, index) => sleeps(index));
    const verdicts = requests.map((request) => gradeAll(patientJudge(closing), [request]));
    const results = Promise.allSettled(verdicts);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await closing.close();
    expect(serversBelow(process.pid).filter((pid) => !others.has(pid))).toEqual([]);
    expect(new Set((await results).map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(serversBelow(process.pid).filter((pid) => !others.has(pid))).toEqual([]);
  });
});
