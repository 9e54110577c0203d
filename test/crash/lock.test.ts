/** The lock of a run between processes: a dead holder, one whose parent never asked how it ended, and many takers at once. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { lockRun } from '../../src/run/lock.ts';

const runsTypes = Number(process.versions.node.split('.')[0]) >= 24;
const module = fileURLToPath(new URL(runsTypes ? '../../src/run/lock.ts' : '../../dist/run/lock.js', import.meta.url));
const rounds = 600;

/** Waits for the moment that each line of input names, then tries to take the lock; the word "end" gives it back. */
const contender = `
  import { createInterface } from 'node:readline';
  import { lockRun } from ${JSON.stringify(module)};
  let held = null;
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'end') { held?.[Symbol.dispose](); held = null; console.log('ended'); continue; }
    const [at, folder] = JSON.parse(line);
    while (performance.timeOrigin + performance.now() < at);
    try { held = lockRun(folder); console.log('held'); } catch (error) { console.log(error.name + ': ' + error.message); }
  }`;

interface Contender {
  readonly child: ChildProcess;
  ask(line: string): Promise<string>;
}

function startContender(): Contender {
  const child = spawn(process.execPath, ['--input-type=module', '-e', contender], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    async ask(line) {
      child.stdin.write(`${line}\n`);
      return (await answers.next()).value ?? 'no answer';
    },
  };
}

it(`of three processes that find a stale lock at once, one takes it: ${rounds} rounds`, {
  timeout: 120_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gq-lock-'));
  const contenders = Array.from({ length: 3 }, startContender);
  const stale = (round: number) => ({ pid: 2 ** 30, host: hostname(), started: '1', token: `dead-${round}` });
  try {
    const surprises: string[] = [];
    for (let round = 0; round < rounds; round++) {
      writeFileSync(join(folder, 'lock.json'), JSON.stringify(stale(round)));
      // In some rounds a process died while it took the lock over.
      if (round % 3 === 0) {
        writeFileSync(join(folder, `.lock-claim-dead-${round}.json`), JSON.stringify(stale(-round - 1)));
      }
      const at = performance.timeOrigin + performance.now() + 3;
      const answers = await Promise.all(contenders.map(({ ask }) => ask(JSON.stringify([at, folder]))));
      const holders = answers.filter((answer) => answer === 'held').length;
      const refusals = answers.filter((answer) => answer.includes('a run that no other process trains')).length;
      if (holders !== 1 || refusals !== 2) surprises.push(`round ${round}: ${answers.join(' | ')}`);
      await Promise.all(contenders.map(({ ask }) => ask('end')));
    }
    expect(surprises).toEqual([]);
    expect(existsSync(join(folder, 'lock.json'))).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    for (const { child } of contenders) child.kill();
  }
});

it.runIf(process.platform === 'linux')(
  'a process that ended counts as dead while its parent has not asked',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gq-lock-'));
    // The shell becomes a program that never asks how its child ended, before the child ends.
    const parent = spawn('sh', ['-c', 'sleep 0.5 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const [line] = await new Promise<string[]>((resolve) =>
        parent.stdout.on('data', (chunk) => resolve(`${chunk}`.split('\n'))),
      );
      const fields = (): string[] => {
        const text = readFileSync(`/proc/${line}/stat`, 'utf8');
        return text.slice(text.lastIndexOf(')') + 2).split(' ');
      };
      await expect.poll(() => fields()[0], { timeout: 20_000 }).toBe('Z');
      const holder = { pid: Number(line), host: hostname(), started: fields()[19], token: 'ended' };
      writeFileSync(join(folder, 'lock.json'), JSON.stringify(holder));
      lockRun(folder)[Symbol.dispose]();
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      parent.kill('SIGKILL');
    }
  },
);

it('a lock that another process has taken over in the meantime is not removed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gq-lock-'));
  const lock = lockRun(folder);
  const other = JSON.stringify({ pid: 1, host: 'elsewhere', started: null, token: 'other' });
  writeFileSync(join(folder, 'lock.json'), other);
  lock[Symbol.dispose]();
  expect(readFileSync(join(folder, 'lock.json'), 'utf8')).toBe(other);
});
