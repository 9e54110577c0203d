/** The sandbox itself: its layers and levels, what it refuses, how it fails, and what it leaves behind. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { GraderError, UserError } from '../../src/base/errors.ts';
import { levelOf } from '../../src/env/sandbox/isolation.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { bareProblem, doubleProblem, gradeAll, patientJudge, right, runRaw, wrong } from './fixtures.ts';
import { soak } from './soak.ts';

const linux = process.platform === 'linux';

describe('start', () => {
  test('a missing Python is one clear error', async () => {
    await expect(Sandbox.start({ python: '/nonexistent/python3' })).rejects.toThrow(UserError);
    await expect(Sandbox.start({ python: '/nonexistent/python3' })).rejects.toThrow(/Python 3\.9 or newer/);
  });

  test('strict refuses to run below the level it asks for, and names what is missing', async () => {
    await expect(Sandbox.start({ workers: 1, layers: [], strictLevel: 1 })).rejects.toThrow(
      /level 1.*seccomp: switched off/,
    );
  });

  test.runIf(linux)('the self-check sees what a missing layer lets through', async () => {
    await using open = await Sandbox.start({ workers: 1, layers: ['noPrivileges'], strictLevel: 0 });
    expect(open.report.level).toBe(0);
    expect(open.report.escapes).toEqual(expect.arrayContaining(['reads /etc/passwd', 'opens a socket', 'forks']));
  });

  test.runIf(linux)('every level runs programs', async () => {
    for (const layers of [
      ['noPrivileges', 'landlock', 'seccomp'],
      ['namespaces', 'noPrivileges', 'landlock', 'seccomp'],
      ['namespaces', 'privateRoot', 'ownUid', 'noPrivileges', 'landlock', 'seccomp'],
    ] as const) {
      await using sandbox = await Sandbox.start({ workers: 1, layers });
      expect(sandbox.report.escapes).toEqual([]);
      expect(sandbox.report.level).toBe(levelOf(sandbox.report.layers));
      expect((await runRaw(sandbox, right)).run.correct).toBe(true);
      const files = await runRaw(sandbox, `for i in range(5000): open(f'f{i}', 'w').close()\nwhile True: pass\n`);
      expect(files.run.correct).toBe(false);
      expect((await runRaw(sandbox, right)).ending.files).toEqual([]);
    }
  });
});

function serversOf(pid: number): number[] {
  const text = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(pid)], { encoding: 'utf8' });
  return text.split('\n').flatMap((line) => (line.includes('server.py') ? [Number.parseInt(line, 10)] : []));
}

describe('failure of the sandbox', () => {
  test.runIf(linux)('a worker killed from outside is replaced and its program run again', async () => {
    const others = new Set(serversOf(process.pid));
    await using sandbox = await Sandbox.start({ workers: 1 });
    const [worker] = serversOf(process.pid).filter((pid) => !others.has(pid));
    // A worker that is stopped has its program and cannot end it before it is killed, however slow the machine is. It is stopped
    // with its group: in a namespace the server is a child of the process that was started.
    process.kill(-worker, 'SIGSTOP');
    const graded = gradeAll(patientJudge(sandbox), [{ code: right }]);
    setTimeout(() => process.kill(worker, 'SIGKILL'), 100);
    const [verdict] = await graded;
    expect(verdict.correct).toBe(true);
    expect(sandbox.replaced).toBe(1);
  });

  test.runIf(linux)('a program that waits for its end while its server is held up does not sleep', async () => {
    const childOf = (pid: number) => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim() || 0);
    function lineBelow(pid: number): number[] {
      return pid === 0 ? [] : [pid, ...lineBelow(childOf(pid))];
    }
    const others = new Set(serversOf(process.pid));
    await using sandbox = await Sandbox.start({ workers: 1 });
    const [worker] = serversOf(process.pid).filter((pid) => !others.has(pid));
    const [first] = bareProblem.tests;
    const large = { ...first, positional: ['x'.repeat(4 << 20)], expected: 0n };
    const problem = { ...bareProblem, cpuSeconds: 1, tests: [first, large] };
    const before = lineBelow(worker);
    const code =
      'import time\nclass Solution:\n    def solve(self, n):\n        time.sleep(0.5)\n        return "no"\n';
    const graded = gradeAll(patientJudge(sandbox), [{ code, problem }]);
    // A program that has begun has an heir, so the line is longer by one. It is wrong, asks for more, and is to be stopped.
    while (lineBelow(worker).length <= before.length) await sleep(1);
    const server = before.at(-2) as number;
    process.kill(server, 'SIGSTOP');
    await sleep(2500);
    process.kill(server, 'SIGCONT');
    expect((await graded)[0].outcome).toBe('wrong');
  });

  test('setup code that fails is the problem’s fault, not the answer’s', async () => {
    await using sandbox = await Sandbox.start({ workers: 1 });
    const problem = { ...doubleProblem, setupCode: 'import no_such_module\n' };
    await expect(gradeAll(patientJudge(sandbox), [{ code: right, problem }])).rejects.toThrow(
      /setup code that runs.*ModuleNotFoundError/,
    );
    const unreadable = { ...doubleProblem, setupCode: 'def (:\n' };
    await expect(gradeAll(patientJudge(sandbox), [{ code: right, problem: unreadable }])).rejects.toThrow(
      /SyntaxError/,
    );
    const [verdict] = await gradeAll(patientJudge(sandbox), [{ code: right }]);
    expect(verdict.correct).toBe(true);
  });

  test('inputs that a program leaves unread do not reach the next one', async () => {
    await using sandbox = await Sandbox.start({ workers: 1 });
    const [first] = doubleProblem.tests;
    const large = { ...first, positional: ['x'.repeat(4 << 20)], expected: 0n };
    const problem = { ...doubleProblem, tests: [first, large] };
    // The program is right on the first input, asks for the second, and ends without reading it, or after reading a little.
    const asks = `
import os, sys
class Solution:
    def solve(self, n):
        h = sys.modules['harness']
        os.write(5, h.record(b'o', b'i' + (6).to_bytes(4, 'little')) + h.record(b's'))
        READ
        os._exit(0)
`;
    for (const read of ['pass', 'os.read(4, 3)', 'import time; time.sleep(0.2)']) {
      const [hostile] = await gradeAll(patientJudge(sandbox), [{ code: asks.replace('READ', read), problem }]);
      expect(hostile.correct).toBe(false);
      const [honest] = await gradeAll(patientJudge(sandbox), [{ code: right }]);
      expect(honest.correct).toBe(true);
    }
  });

  test('a closed sandbox is a GraderError, never a wrong answer', async () => {
    const sandbox = await Sandbox.start({ workers: 1 });
    await sandbox.close();
    await expect(gradeAll(patientJudge(sandbox), [{ code: wrong }])).rejects.toThrow(GraderError);
  });
});

test.runIf(linux)('soak: hostile and honest programs mixed, none lost, nothing left behind', async () => {
  const report = await soak({ programs: 70, seed: 7, workers: 2 });
  expect(report.lost).toBe(0);
  expect(report.mistaken).toEqual([]);
  expect(report.askers).toBeGreaterThan(5);
  expect(report.processesLeft).toEqual([]);
  expect(report.descriptorsAfter).toBeLessThanOrEqual(report.descriptorsBefore);
  expect(report.directoriesLeft).toEqual([]);
});
