/** Ctrl-C at a terminal reaches the process group of the command: what the sandbox starts must not be in it. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findPython } from './python.ts';
import { Sandbox } from './sandbox.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-groups-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const groupOf = (pid: number) => Number(execFileSync('ps', ['-o', 'pgid=', '-p', `${pid}`], { encoding: 'utf8' }));

test('the probe of Python has a group of its own', async () => {
  const [script, answer] = [join(home, 'python'), join(home, 'group')];
  writeFileSync(script, `#!/bin/sh\nps -o pgid= -p $$ > '${answer}'\nexec python3 "$@"\n`);
  chmodSync(script, 0o755);
  await findPython(script);
  expect(Number(readFileSync(answer, 'utf8'))).not.toBe(groupOf(process.pid));
});

test('every worker has a group of its own', async () => {
  await using _sandbox = await Sandbox.start({ workers: 2 });
  const lines = execFileSync('ps', ['-A', '-o', 'ppid=,pgid=,args='], { encoding: 'utf8' }).split('\n');
  const workers = lines.filter((line) => line.includes('server.py') && Number.parseInt(line, 10) === process.pid);
  expect(workers.length).toBeGreaterThan(0);
  const groups = workers.map((line) => Number(line.trim().split(/\s+/)[1]));
  expect(groups).not.toContain(groupOf(process.pid));
});
