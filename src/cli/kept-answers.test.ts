/** Answers that are kept: given again for the same files, made again when any of them changes, never kept of fresh ones. */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { answerOnce } from './kept-answers.ts';

let [home, runs, made] = ['', '', 0];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'answers-'));
  runs = join(home, 'runs');
  mkdirSync(runs);
  writeFileSync(join(runs, 'a'), 'one');
  vi.stubEnv('GQ_CACHE', join(home, 'cache'));
  // Files that were just written are as old as any to a clock that is ahead.
  const ahead = Date.now() + 60_000;
  vi.spyOn(Date, 'now').mockImplementation(() => ahead);
  made = 0;
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

async function ask(...question: readonly unknown[]): Promise<string> {
  let said = '';
  const sink = { write: (text: string) => (said += text) };
  const context = { stdout: sink, stderr: sink, exitCode: 0 };
  await answerOnce(runs, question, context, async (own) => {
    made += 1;
    own.stdout.write(`answer ${made}\n`);
    own.stderr.write('a warning\n');
    own.exitCode = 1;
  });
  return `${said}${context.exitCode}`;
}

it('says the same again, its warning and its exit code too', async () => {
  expect([await ask('text'), await ask('text')]).toEqual(Array(2).fill('answer 1\na warning\n1'));
  expect(await ask('csv')).toContain('answer 2');
});

it.each<[string, () => void]>([
  ['a longer file', () => appendFileSync(join(runs, 'a'), '+')],
  ['a file of the same length', () => writeFileSync(join(runs, 'a'), 'two')],
  ['a new file', () => writeFileSync(join(runs, 'b'), '')],
])('answers anew after %s', async (_, change) => {
  await ask();
  // Clocks of files are coarse.
  await new Promise((go) => setTimeout(go, 20));
  change();
  expect(await ask()).toContain('answer 2');
});

it('keeps no answer of fresh files, of folders with links, or of a folder that is not there', async () => {
  symlinkSync(join(runs, 'a'), join(runs, 'link'));
  await ask();
  runs = join(home, 'none');
  await ask();
  vi.restoreAllMocks();
  runs = join(home, 'fresh');
  mkdirSync(runs);
  writeFileSync(join(runs, 'a'), '');
  await ask();
  expect(made).toBe(3);
  expect(readdirSync(home)).not.toContain('cache');
});
