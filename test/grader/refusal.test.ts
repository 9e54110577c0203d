/** Where nothing holds a program in, nothing runs unless that is asked for; the doctor says so first. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { renderFindings } from '../../src/cli/commands/verify.ts';
import { runCli } from '../../src/cli/program.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import { inspectPython, inspectSandbox, isHealthy } from '../../src/verify/machine.ts';

const problems = fileURLToPath(new URL('../data/problems-benchmark.jsonl', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gq-refusal-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A Python on which no layer works, as on a machine without Landlock and namespaces. */
function bareMachine(): string {
  const real = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
  const path = join(folder, 'bare-python');
  const lines = [
    `#!${real}`,
    'import base64, json, marshal, os, sys',
    'arguments = sys.argv[1:]',
    "if arguments[-1].endswith('probe.py'):",
    '    print(json.dumps([os.path.abspath(__file__), list(sys.version_info[:3]), []]))',
    '    sys.exit()',
    'config = marshal.loads(base64.b64decode(arguments[-1]))',
    "config['layers'] = []",
    'arguments[-1] = base64.b64encode(marshal.dumps(config)).decode()',
    `os.execv(${JSON.stringify(real)}, [${JSON.stringify(real)}] + arguments)`,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o755 });
  return path;
}

async function gq(...argv: string[]) {
  let [stdout, stderr] = ['', ''];
  const code = await runCli(argv, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

const python = bareMachine();
const responses = join(folder, 'responses.jsonl');
const completion = '```python\nclass Solution:\n    def double(self, n): return n + n\n```';
writeFileSync(responses, `${JSON.stringify({ id: 1, completion, loophole: 'run_tests' })}\n`);

describe('without isolation', () => {
  test.runIf(process.platform === 'linux')('a folder for temporary files where none can be made is named', async () => {
    vi.stubEnv('TMPDIR', '/proc');
    try {
      await expect(Sandbox.start({ workers: 1, python, strictLevel: 0 })).rejects.toThrow(
        /^TMPDIR=\/proc: expected a place where files can be written, found \/proc: that nothing can be made there/,
      );
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('a sandbox does not start by itself', async () => {
    await expect(Sandbox.start({ workers: 1, python })).rejects.toThrow(
      /isolation level 1.*found level 0.*environment\.sandbox = "none".*--sandbox none/,
    );
    await using asked = await Sandbox.start({ workers: 1, python, strictLevel: 0 });
    expect(asked.report.level).toBe(0);
  });

  test('gq grade refuses, and writes no file; --sandbox none runs', async () => {
    const out = join(folder, 'verdicts.jsonl');
    const call = ['grade', '--problems', problems, '--responses', responses, '--out', out, '--python', python];
    const refused = await gq(...call);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/level 0.*--sandbox none/s);
    expect(refused.stderr).not.toContain('    at ');
    expect(existsSync(out)).toBe(false);
    const asked = await gq(...call, '--sandbox', 'none');
    expect(asked).toMatchObject({ code: 0 });
    expect(asked.stdout).toContain('Isolation level 0');
    expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ correct: true });
  });

  test('gq verify problems refuses too', async () => {
    expect(await gq('verify', 'problems', problems, '--python', python)).toMatchObject({ code: 2 });
    expect(await gq('verify', 'problems', problems, '--python', python, '--sandbox', 'none')).toMatchObject({
      code: 1,
    });
  });

  test('gq train refuses before it trains; --sandbox none and the key of the config run', async () => {
    const recipe = fileURLToPath(new URL('../../recipes/micro-vanilla.toml', import.meta.url));
    const small = ['updates=1', 'sampling.promptsPerStep=2', 'sampling.group=2'];
    const set = [`environment.python=${python}`, ...small].flatMap((change) => ['--set', change]);
    const refused = await gq('train', recipe, ...set, '--out', join(folder, 'refused'));
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/level 0.*environment\.sandbox = "none"/s);
    // Whether a program will need the sandbox is not known before.
    const interpreted = [...set, '--set', 'environment.interpreter=true', '--out', join(folder, 'interpreted')];
    expect((await gq('train', recipe, ...interpreted)).stderr).toMatch(/level 0.*environment\.sandbox = "none"/s);
    const asked = await gq('train', recipe, ...set, '--sandbox', 'none', '--out', join(folder, 'asked'));
    expect(asked, asked.stderr).toMatchObject({ code: 0 });
    const config = JSON.parse(readFileSync(join(folder, 'asked', 'manifest.json'), 'utf8')).config;
    expect(config.environment.sandbox).toBe('none');
  });

  test('an option that is not one is refused by its name', async () => {
    const call = ['grade', '--problems', problems, '--responses', responses, '--out', join(folder, 'x.jsonl')];
    expect((await gq(...call, '--sandbox', 'off')).code).toBe(2);
    expect((await gq(...call, '--strict', '2')).stderr).toMatch(/unknown option '--strict'/);
  });
});

describe('the doctor', () => {
  test('requires a Python', async () => {
    const finding = await inspectPython('python-of-nobody');
    expect(finding).toMatchObject({ status: 'missing', required: true });
    expect(isHealthy([finding])).toBe(false);
    expect(renderFindings([finding])).not.toContain('optional');
  });

  test('requires a sandbox that holds', async () => {
    const finding = await inspectSandbox({ python });
    expect(finding).toMatchObject({ status: 'missing', required: true, values: { level: 0 } });
    expect(finding.todo).toMatch(/landlock.*Nothing is graded here unless environment\.sandbox = "none"/s);
    expect(isHealthy([finding])).toBe(false);
    expect(isHealthy([await inspectSandbox({ python: 'python-of-nobody' })])).toBe(false);
  });

  test('says of the cgroup whether there is one, which is no failure', async () => {
    const finding = await inspectSandbox();
    expect(finding.status).toBe('found');
    expect(finding.notes?.join('\n')).toMatch(/^cgroup: /m);
    expect(finding.todo ?? '').not.toContain('cgroup');
  });
});
