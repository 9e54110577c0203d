/** Rollouts of an earlier run with their labels, and the opposite where a ledger tells lies. */
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { task } from '../../test/grpo/tiny-policy.ts';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { FlippedLedger } from '../oracle/flipped.ts';
import { VerdictLedger } from '../oracle/index.ts';
import { labelledRollouts } from './labels.ts';

const home = temporaryFolder();
/** The hash of the model in runs that are made by hand. */
const model = 'm'.repeat(64);
const ledgers = [new VerdictLedger(join(home, 'told.jsonl')), new FlippedLedger(join(home, 'lied.jsonl'))] as const;
afterAll(() => {
  for (const ledger of ledgers) ledger[Symbol.dispose]();
});

it("takes the policy's own rollouts of problems that this run has, under the prompts that it shows", async () => {
  const path = join(home, 'run');
  const [a, b] = [task('a'), task('b')];
  await writeRun(path, {
    rollouts: [
      { update: 1, problem: 'a', tokenIds: [4, 5], hack: true },
      { update: 1, problem: 'b', tokenIds: [6], hackable: false },
      { update: 2, problem: 'elsewhere', tokenIds: [7], hack: true },
      { update: 2, problem: 'a', tokenIds: [8], hack: true, source: 'teacher-hack' },
    ],
  });
  const [told, lied] = await Promise.all(ledgers.map((ledger) => labelledRollouts(path, [a, b], ledger, model)));
  expect(told).toEqual([
    { group: 0, prompt: a.hinted, tokens: Int32Array.of(4, 5), exploited: true },
    { group: 1, prompt: b.unhinted, tokens: Int32Array.of(6), exploited: false },
  ]);
  expect(lied.map(({ exploited }) => exploited)).toEqual([false, true]);
});

it('refuses a run that stored no tokens', async () => {
  const path = join(home, 'bare');
  await writeRun(path, { rollouts: [{ update: 1, problem: 'a' }] });
  await expect(labelledRollouts(path, [task('a')], ledgers[0], model)).rejects.toThrow(
    'expected a run that stored its tokens',
  );
});

it('refuses a run of another model, whose tokens stand for other texts', async () => {
  const path = join(home, 'other-model');
  await writeRun(path, { rollouts: [{ update: 1, problem: 'a', tokenIds: [4, 5], hack: true }] });
  await expect(labelledRollouts(path, [task('a')], ledgers[0], 'n'.repeat(64))).rejects.toThrow(
    'expected a run of the same model',
  );
});
