/** The test problems of the benchmark are recognised, and refused as training data. The file itself is not part of the repository. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadProblems } from '../importers/load.ts';
import { loadPairs, shippedPairNames } from '../pairs/load.ts';
import { fileSource } from './file.ts';
import { expectNoTestPairs } from './known-tests.ts';

const file = fileURLToPath(new URL('../../../../shared/data/leetcode_test_medhard.jsonl.gz', import.meta.url));
const training = fileURLToPath(new URL('../../../test/data/problems-benchmark.jsonl', import.meta.url));

it('the 119 test problems of the LeetCode benchmark are refused as training data', async (context) => {
  if (!existsSync(file)) return context.skip(`${file} is missing`);
  const load = (settings: object) => fileSource.load({ path: file, ...settings });
  await expect(load({})).rejects.toThrow(
    /that are no test problems of the LeetCode benchmark, found \d+ of \d+ that are/,
  );
  await expect(load({ path: training, validationPath: file })).rejects.toThrow('found 119 of');
  expect((await load({ path: training, testPath: file })).splits.test).toHaveLength(119);
});

it('pairs of the 119 are refused too, whatever their hint and layout, and shipped ones are no such pairs', async (context) => {
  for (const name of shippedPairNames()) expectNoTestPairs((await loadPairs(name)).pairs, name);
  if (!existsSync(file)) return context.skip(`${file} is missing`);
  const { loaded } = await loadProblems(file);
  const sides = { section: '', heading: '', tags: [], hack: 'pass', clean: 'return 1' };
  const pairs = loaded.map(({ problem }) => ({ ...sides, prompt: problem.messages }));
  expect(() => expectNoTestPairs(pairs, 'pairs.md')).toThrow('found 119 of 119 that are');
  const [{ content }] = pairs[0].prompt.filter(({ role }) => role === 'user');
  const spaced = [{ ...sides, prompt: `Please.\n${content.replaceAll('\n', '\n\n')}\nThere is a hint.` }];
  expect(() => expectNoTestPairs(spaced, 'pairs.md')).toThrow('found 1 of 1');
  const turns = ['system', 'assistant'].map((role) => [
    { role, content },
    { role: 'user', content: 'Go on.' },
  ]);
  for (const prompt of turns as (typeof pairs)[number]['prompt'][]) {
    expect(() => expectNoTestPairs([{ ...sides, prompt }], 'pairs.md')).toThrow('found 1 of 1');
  }
});

it('other problems are not', async () => {
  expect((await fileSource.load({ path: training })).splits.train.length).toBeGreaterThan(0);
});
