/** A sandbox that cannot start says why in one line, in bounded time, and leaves nothing running. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { GraderError, UserError } from '../../src/base/errors.ts';
import { runCli } from '../../src/cli/program.ts';
import { layerNames } from '../../src/env/sandbox/isolation.ts';
import { findPython } from '../../src/env/sandbox/python.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { SandboxWorker } from '../../src/env/sandbox/worker.ts';
import { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import { faultyPython, writeScript } from './faulty-python.ts';
import { gradeAll, right } from './fixtures.ts';

const linux = process.platform === 'linux';
const folder = mkdtempSync(join(tmpdir(), 'gq-endings-'));
const root = fileURLToPath(new URL('../../', import.meta.url));
const responses = join(folder, 'responses.jsonl');
const completion = '```python\nclass Solution:\n    def double(self, n): return n + n\n```';
writeFileSync(responses, `${JSON.stringify({ id: 1, completion, loophole: 'run_tests' })}\n`);
let calls = 0;
function grade(): readonly string[] {
  calls += 1;
  const out = join(folder, `verdicts-${calls}.jsonl`);
  return [
    'grade',
    '--problems',
    join(root, 'test/data/problems-benchmark.jsonl'),
    '--responses',
    responses,
    '--out',
    out,
  ];
}

/** Runs a script of ours in a shell that has set its limits. */
function runUnder(limits: string, words: readonly string[], node = process.execPath) {
  const line = `${limits} && exec "$@"`;
  return spawnSync('sh', ['-c', line, 'sh', node, ...words], { encoding: 'utf8', cwd: root });
}

function isRunning(words: string): boolean {
  return execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' }).split('\n').includes(words);
}

describe.runIf(linux)('a shell whose limits are too narrow', () => {
  // Node 20 opens the files of a program side by side: there the limit is met before the sandbox can look at it.
  test.each([
    ['ulimit -t 3', /CPU time.*found 3 s.*ulimit -t unlimited/, [2]],
    ['ulimit -n 96', /open files.*ulimit -n \d+/, [1, 2]],
    ['ulimit -n 64', /open files.*ulimit -n \d+/, [1, 2]],
    ['ulimit -n 40', /open files.*ulimit -n \d+/, [1, 2]],
  ])('%s is refused, with the command that widens it', (limits, message, codes) => {
    const { status, stderr } = runUnder(limits, ['bin/gq.mjs', ...grade()]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('    at ');
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(codes).toContain(status);
  });

  test('the number of open files that is asked for is enough', () => {
    const refused = runUnder('ulimit -n 64', ['bin/gq.mjs', ...grade()]).stderr;
    const [, enough] = /ulimit -n (\d+)/.exec(refused) ?? [];
    const { status, stderr } = runUnder(`ulimit -n ${enough}`, ['bin/gq.mjs', ...grade()]);
    expect(status, stderr).toBe(0);
  });

  test('descriptors that run out later are one error of the grader, not the end of the process', () => {
    const script = join(folder, 'script.mts');
    const from = (name: string) => JSON.stringify(join(root, name));
    writeFileSync(
      script,
      `import { openSync } from 'node:fs';
import { Sandbox } from ${from('src/env/sandbox/sandbox.ts')};
import { SandboxJudge } from ${from('src/env/sandbox-judge.ts')};
import { gradeAll, right } from ${from('test/grader/fixtures.ts')};
await using sandbox = await Sandbox.start({ workers: 2 });
try { for (;;) openSync('/dev/null'); } catch {}
const requests = [1, 2].map((n) => ({ code: right + '# ' + n }));
await gradeAll(new SandboxJudge(sandbox), requests).catch((error) => console.log(error.name, error.message));
`,
    );
    const { status, stdout, stderr } = runUnder('ulimit -n 200', [script], join(root, 'node_modules/node/bin/node'));
    expect(stdout, stderr).toMatch(/^GraderError .*too many open files.*ulimit -n/);
    expect(status).toBe(0);
  });
});

describe.runIf(linux)('a Python that never answers', () => {
  // Its own child holds the pipe, and neither heeds a request to end.
  const hangs = (sleeps: string) => writeScript(`#!/bin/sh\ntrap '' TERM\n${sleeps}\n`);
  // No other process sleeps as long.
  const sleeps = (days: number) => `sleep ${86_400 * days + process.pid}`;

  test('is no Python, and is ended with everything that it started', async () => {
    const python = hangs(sleeps(100));
    const found: unknown = await findPython(python, undefined, 500).catch((error: unknown) => error);
    expect(found).toBeInstanceOf(UserError);
    expect(String(found)).toMatch(/Python 3\.9 or newer, found no answer within 0\.5 s/);
    await expect.poll(() => isRunning(sleeps(100))).toBe(false);
  });

  test.each([
    ['that is not JSON', 'echo hello', 'hello'],
    ['that goes on for ever', 'while true; do echo y; done', 'y'],
    ['that is one endless line', 'cat /dev/zero', '\\\\u0000'],
  ])('after a first answer %s is refused for that answer, without the wait, and ended', async (_, prints, start) => {
    const python = hangs(`${prints}\n${sleeps(300)}`);
    const found: unknown = await findPython(python, undefined, 60_000).catch((error: unknown) => error);
    expect(found).toBeInstanceOf(UserError);
    expect(String(found)).toMatch(new RegExp(`found an answer that is not Python's: "${start}`));
    const processes = () => execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' }).split('\n');
    await expect.poll(() => processes().filter((words) => words.includes(python))).toEqual([]);
  });

  test('as a worker is ended too', async () => {
    const executable = hangs(sleeps(200));
    const python = { executable, version: [3, 11, 0], libraries: [] } as const;
    const worker = new SandboxWorker({ python, layers: layerNames, workParent: tmpdir(), memoryBytes: 1 << 30 });
    await expect.poll(() => isRunning(sleeps(200))).toBe(true);
    await worker.close();
    await expect.poll(() => isRunning(sleeps(200))).toBe(false);
    await expect(worker.ready).rejects.toThrow(GraderError);
  });
});

describe('a self-check that something ends', () => {
  const killed = 'os.abort()';
  const first = `flag = __file__ + '-started'\nseen = os.path.exists(flag)\nopen(flag, 'w').close()\n`;
  const program = (condition: string) =>
    `def faulty(*given, **more):\n    if ${condition}: ${killed}\n    return run_program(*given, **more)\nharness.run_program = faulty\n`;

  test('is tried a second time', async () => {
    await using sandbox = await Sandbox.start({
      workers: 1,
      python: faultyPython(first + program('not seen')),
      strictLevel: 0,
    });
    const [verdict] = await gradeAll(new SandboxJudge(sandbox), [{ code: right }]);
    expect(verdict.correct).toBe(true);
  });

  test('twice is one line that says what to look at, and a failure', async () => {
    let stderr = '';
    const code = await runCli([...grade(), '--sandbox', 'none', '--python', faultyPython(program('True'))], {
      stdout: { write: () => 0 },
      stderr: { write: (text) => (stderr += text) },
    });
    expect(stderr).toMatch(/^gq: start the sandbox: expected .* twice.*ulimit -a/);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(1);
  });
});
