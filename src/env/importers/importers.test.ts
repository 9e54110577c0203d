import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { loadProblems } from './load.ts';
import { readRecords } from './records.ts';

const folder = mkdtempSync(join(tmpdir(), 'gq-importers-test-'));
const dataFolder = fileURLToPath(new URL('../../../test/data', import.meta.url));
const data = (name: string) => join(dataFolder, name);

async function loadLines(...records: unknown[]) {
  const path = join(folder, 'problems.jsonl');
  writeFileSync(path, records.map((record) => JSON.stringify(record)).join('\n'));
  return loadProblems(path);
}

describe('LeetCodeDataset', () => {
  test('statement, starter code and tests become one problem', async () => {
    const { loaded } = await loadProblems(data('problems-leetcode-dataset.jsonl'));
    const [reverse, , root] = loaded.map(({ problem }) => problem);
    expect(reverse.messages[1].content).toContain('Reverse a linked list.');
    expect(reverse.messages[1].content).toContain('called reverse and should pass all tests.');
    expect(reverse.difficulty).toBe('easy');
    expect(root.messages[1].content).toContain('root of two\n\nInput: x = 4\nOutput: 2');
    expect(root.messages[1].content).toContain('class Solution:\n    def root(self, x):\n        # Add your code here');
  });
});

describe('the benchmark', () => {
  test('an unknown or missing field is an error that names it', async () => {
    const [{ value }] = await readRecords(data('problems-benchmark.jsonl'));
    const record = value as Record<string, unknown>;
    await expect(loadLines({ ...record, surprise: 1 })).rejects.toThrow(/line 1.*surprise/);
    const { difficulty, ...rest } = record;
    await expect(loadLines(rest)).rejects.toThrow(/"difficulty"/);
    await expect(loadLines(record, record)).rejects.toThrow(/id 1, as on line 1/);
    await expect(loadLines({ ...record, prompt: [{ role: 'user', content: 'no sentence' }] })).rejects.toThrow(
      /evaluation sentence/,
    );
    await expect(loadLines({ neither: 1 })).rejects.toThrow(/fields neither/);
  });

  test('a test that cannot be read refuses the problem, not the file', async () => {
    const { loaded, refused } = await loadProblems(data('problems-benchmark.jsonl'));
    expect(loaded.map(({ problem }) => problem.id)).toEqual(['1', '2', '3', '4']);
    expect(refused).toEqual([{ id: '5', line: 5, reason: expect.stringContaining('assert Solution().pick') }]);
  });
});

test('a file that is no JSON, no gzip, or not there', async () => {
  const path = join(folder, 'bad.jsonl');
  writeFileSync(path, '{"a": 1}\n{');
  await expect(readRecords(path)).rejects.toThrow(/line 2: expected JSON/);
  writeFileSync(`${path}.gz`, 'plain');
  await expect(readRecords(`${path}.gz`)).rejects.toThrow(/gzip/);
  await expect(readRecords(join(folder, 'none'))).rejects.toThrow(/readable file/);
});
