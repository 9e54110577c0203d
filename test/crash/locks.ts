/** Processes that find the stale lock of a run at the same moment, again and again: one of them must take it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const runsTypes = Number(process.versions.node.split('.')[0]) >= 24;
const module = fileURLToPath(
  new URL(runsTypes ? '../../src/base/node/lock.ts' : '../../dist/base/node/lock.js', import.meta.url),
);

/** Waits for the moment that each line of input names, then tries to take the lock; the word "end" gives it back. */
const contender = `
  import { createInterface } from 'node:readline';
  import { takeLock } from ${JSON.stringify(module)};
  let held = null;
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'end') { held?.[Symbol.dispose](); held = null; console.log('ended'); continue; }
    const [at, folder] = JSON.parse(line);
    while (performance.timeOrigin + performance.now() < at);
    try { held = takeLock(folder + '/lock.json', { call: 'train', expected: 'a run that no other process trains' }); console.log('held'); } catch (error) { console.log(error.name + ': ' + error.message); }
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

/** Lets three processes contend for a lock so many times; returns the rounds that had not exactly one holder, and what was left behind. */
export async function contendForLocks(rounds: number): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gq-lock-'));
  const contenders = Array.from({ length: 3 }, startContender);
  const stale = (round: number) => ({ pid: 2 ** 30, host: hostname(), started: '1', token: `dead-${round}` });
  const surprises: string[] = [];
  try {
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
    const left = readdirSync(folder);
    return left.length === 0 ? surprises : [...surprises, `left behind: ${left.join(', ')}`];
  } finally {
    for (const { child } of contenders) child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}
