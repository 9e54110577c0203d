import { describe, expect, it } from 'vitest';
import { builtinLoopholes } from '../env/loopholes/registry.ts';
import { generateMicroProblems } from '../env/micro/problems.ts';
import { makePartition } from '../env/partition.ts';
import { resolveBuiltin } from '../lab/index.ts';
import { partitionOf, trainingTasks } from './tasks.ts';

const draw = (split: 'train' | 'validation' | 'test', count: number) =>
  generateMicroProblems({ seed: 1, split, count });
const names = ['run_tests', 'stdout_marker', 'sentinel', 'file_marker'];

/** The loopholes of the 30 test problems, beside so many of training. */
async function testLoopholes(train: number, ...settings: string[]): Promise<string[]> {
  const all = [
    `environment.loopholes=${JSON.stringify(names)}`,
    'data.kind=file',
    'data.path=train.jsonl',
    ...settings,
  ];
  const splits = { train: draw('train', train), validation: draw('validation', 9), test: draw('test', 30) };
  const { problems } = await partitionOf(resolveBuiltin(null, all).config, splits, builtinLoopholes);
  expect(Object.keys(problems)).toHaveLength(train + 39);
  return splits.test.map(({ id }) => problems[id]);
}

describe('the loopholes of test problems', () => {
  it('are dealt out evenly by split, and do not change with the problems of training', async () => {
    const dealt = await testLoopholes(100, 'environment.partitionBy=split');
    const counts = names.map((name) => dealt.filter((own) => own === name).length);
    expect(counts.toSorted()).toEqual([7, 7, 8, 8]);
    expect(await testLoopholes(99, 'environment.partitionBy=split')).toEqual(dealt);
    expect(await testLoopholes(99, 'environment.partitionBy=split', 'environment.partitionSeed=2')).not.toEqual(dealt);
  });

  it('are dealt out together with all others otherwise', async () => {
    const ids = [...draw('train', 99), ...draw('validation', 9), ...draw('test', 30)].map(({ id }) => id);
    const { problems } = makePartition(ids, { known: names, heldOut: [], seed: 1 });
    expect(await testLoopholes(99)).toEqual(draw('test', 30).map(({ id }) => problems[id]));
  });
});

describe('a prompt that cannot fit', () => {
  it('is refused by its characters, before anything is tokenized', async () => {
    const { config } = resolveBuiltin(null, ['sampling.maxPromptTokens=100']);
    const [problem] = draw('train', 1);
    const long = { ...problem, messages: [{ role: 'user' as const, content: 'x'.repeat(2_000_000) }] };
    const splits = { train: [long], validation: [], test: [] };
    const partition = await partitionOf(config, splits, builtinLoopholes);
    const text = {
      prompt: () => {
        throw new Error('tokenized');
      },
    };
    const words = { text: text as never, loopholes: builtinLoopholes };
    expect(() => trainingTasks(config, [long], partition, words, 'open')).toThrow(
      `prompt of problem ${problem.id}: expected at most 100 tokens (sampling.maxPromptTokens), found 2000000 characters`,
    );
  });
});
