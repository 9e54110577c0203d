/**
 * Canonical solutions of the benchmark's test file are correct in all seven loopholes. The test needs that file. The six problems
 * whose solution takes seconds are left to `npm run check:grader`, which runs all 119.
 */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { benchmarkFile, findUnsound, slowIds } from './canonical.ts';

const here = existsSync(benchmarkFile);
if (!here) console.warn(`canonical solutions NOT tested: ${benchmarkFile} is not here`);

test.skipIf(!here)('113 of 119 problems in seven loopholes', async () => {
  const { problems, tests, unsound } = await findUnsound((id) => !slowIds.includes(id));
  expect(unsound).toEqual([]);
  expect(problems).toBe(113);
  expect(tests).toBeGreaterThan(11_000);
});
