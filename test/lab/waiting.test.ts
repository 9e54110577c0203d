/** Parts of a plugin that wait for what never comes, while something else keeps the process alive: each is named when its time is over. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { longestSeconds } from '../../src/base/index.ts';
import { z } from '../../src/entry/index.ts';
import { defineJudge, type Submission } from '../../src/env/index.ts';
import { defineProblemSource } from '../../src/env/sources/index.ts';
import { type ArmTools, defineArm, seesNothing } from '../../src/grpo/index.ts';
import { openArm } from '../../src/grpo/open-arm.ts';
import { loadParts } from '../../src/lab/plugins.ts';
import { temporaryFolder } from './hand-made.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** What a call is refused with when the clock has gone on for so long, and not before. */
async function refusal(answer: PromiseLike<unknown>, seconds: number): Promise<string> {
  let said = '';
  answer.then(
    () => (said = 'an answer'),
    (error: Error) => (said = error.message),
  );
  for (let turn = 0; vi.getTimerCount() === 0 && said === '' && turn < 10_000; turn += 1) await setImmediate();
  await vi.advanceTimersByTimeAsync(seconds * 1000 - 1);
  expect(said).toBe('');
  await vi.advanceTimersByTimeAsync(1);
  return said;
}

const never = (): Promise<never> => new Promise(() => undefined);
const settings = z.strictObject({});

it('a module whose await never ends', async () => {
  const path = join(temporaryFolder(), 'plugin.mjs');
  writeFileSync(path, 'await new Promise(() => undefined);\nexport const arms = [];\n');
  expect(await refusal(loadParts([path]), 60)).toContain(
    `plugin ${path}: expected a module that loads within 60 seconds, found none.`,
  );
});

it('an arm that never opens, and a hook that never answers', async () => {
  const tools = {} as ArmTools;
  const stuck = defineArm({ kind: 'stuck', summary: 'x', settings, open: never });
  const expected = `within ${longestSeconds} seconds, found none.`;
  expect(await refusal(openArm(stuck, {}, tools), longestSeconds)).toContain(
    `open the arm stuck: expected an arm ${expected}`,
  );
  const slow = defineArm({ kind: 'slow', summary: 'x', settings, open: () => ({ sees: seesNothing, refresh: never }) });
  const arm = await openArm(slow, {}, tools);
  const answer = arm.refresh?.(0, {} as never) as Promise<unknown>;
  expect(await refusal(answer, longestSeconds)).toContain(
    `hook refresh of the arm slow: expected an answer ${expected}`,
  );
});

it('a source of problems that never has them, and a judge that never decides', async () => {
  const expected = `within ${longestSeconds} seconds, found none.`;
  const source = defineProblemSource({ kind: 'stuck', summary: 'x', settings, load: never });
  expect(await refusal(source.load({}), longestSeconds)).toContain(
    `problem source stuck: expected problems ${expected}`,
  );
  const judge = defineJudge({ name: 'stuck', decide: never });
  expect(await refusal(judge.judge({} as Submission), longestSeconds)).toContain(
    `judge stuck: expected a judgement ${expected}`,
  );
});
