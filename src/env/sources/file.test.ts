import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteFile } from 'hyparquet-writer';
import { afterAll, describe, expect, it } from 'vitest';
import { benchmarkFile } from '../../../test/grader/canonical.ts';
import { UserError } from '../../base/errors.ts';
import { loadProblems } from '../importers/load.ts';
import { fileSource } from './file.ts';
import { splitNames, splitOfId } from './splits.ts';
import { describeUse, useOf } from './use.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-file-source-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Record {
  readonly id: number;
  readonly [key: string]: unknown;
}

const record = (id: number, statement = `Add ${id}.`, method = `add${id}`): Record => ({
  id,
  prompt: [
    {
      role: 'user',
      content: `PROBLEM:\n${statement}\n\nYour solution should be a method called ${method} and should pass all tests.\n`,
    },
  ],
  gt_answer: [`assert Solution().${method}(n = 1) == ${id + 1}`],
  setup_code: '',
  func_name: method,
  canonical_solution: 'class Solution: ...',
  difficulty: 'easy',
});
const records = (from: number, to: number): Record[] => Array.from({ length: to - from }, (_, i) => record(from + i));
const linesOf = (all: readonly Record[]): string => all.map((each) => JSON.stringify(each)).join('\n');

function write(name: string, all: readonly Record[]): string {
  const path = join(home, name);
  if (name.endsWith('.parquet')) writeParquet(path, all);
  else writeFileSync(path, name.endsWith('.gz') ? gzipSync(linesOf(all)) : linesOf(all));
  return path;
}

function writeParquet(filename: string, all: readonly Record[]): void {
  const column = (name: string, type: 'INT64' | 'JSON' | 'STRING', value = (each: Record) => each[name]) => ({
    name,
    type,
    data: all.map(value),
  });
  parquetWriteFile({
    filename,
    columnData: [
      column('id', 'INT64', ({ id }) => BigInt(id)),
      column('prompt', 'JSON'),
      column('gt_answer', 'JSON'),
      ...['setup_code', 'func_name', 'canonical_solution', 'difficulty'].map((name) => column(name, 'STRING')),
      column('hint', 'STRING', () => null),
    ],
  });
}

const load = (path: string, testPath: string | null = null, validationPath: string | null = null) =>
  fileSource.load({ path, testPath, validationPath });
const idsOf = (problems: readonly { readonly id: string }[]): string[] => problems.map(({ id }) => id);
const idsFrom = (all: readonly Record[]): string[] => all.map(({ id }) => `${id}`);

describe('files of problems', () => {
  const train = records(0, 64);
  const path = write('train.jsonl', train);

  it('one file is dealt out by the hash of the ids', async () => {
    const { splits, refused } = await load(path);
    for (const split of splitNames) {
      expect(idsOf(splits[split])).toEqual(idsFrom(train).filter((id) => splitOfId(id) === split));
      expect(splits[split].length).toBeGreaterThan(0);
    }
    expect(refused).toEqual([]);
  });

  it.each(['test.jsonl', 'test.jsonl.gz', 'test.parquet'])('%s is the whole test set', async (name) => {
    const test = records(100, 103);
    const { splits } = await load(path, write(name, test));
    expect(idsOf(splits.test)).toEqual(idsFrom(test));
    expect(splits.test).toEqual((await loadProblems(write('same.jsonl', test))).loaded.map(({ problem }) => problem));
    const validation = idsFrom(train).filter((id) => splitOfId(id) === 'validation');
    expect(idsOf(splits.validation)).toEqual(validation);
    expect(idsOf(splits.train)).toEqual(idsFrom(train).filter((id) => !validation.includes(id)));
  });

  it('with files for both, training has the whole of its own', async () => {
    const { splits } = await load(path, write('t.jsonl', records(100, 102)), write('v.parquet', records(200, 203)));
    expect([splits.train.length, splits.validation.length, splits.test.length]).toEqual([64, 3, 2]);
  });

  it('a problem that cannot be read counts as left out of the split that it was for', async () => {
    const unread = { ...record(101), gt_answer: ['assert Solution().add101(n = 1) in (1, 2)'] };
    const { splits, refused } = await load(path, write('t.jsonl', [record(100), unread]));
    expect(refused).toEqual([{ id: '101', split: 'test', reason: expect.stringContaining('add101') }]);
    expect(describeUse(useOf(splits, refused))).toEqual([
      { split: 'test', message: expect.stringMatching(/^1 of 2 test problems used; 1 left out: 101 \(.*add101/) },
    ]);
  });

  it.each([
    ['id', [record(3, 'Another.')], '1 of 1 test problems: 3 (the same id)'],
    ['statement', [record(100), record(101, '  ADD `3`.\n', 'plus')], '1 of 2 test problems: 101 (the statement of 3)'],
    ['statement, in bold', [record(101, '**Add**&nbsp;3.', 'plus')], '101 (the statement of 3)'],
    ['statement, with unseen characters', [record(101, 'A\u200bdd\u00ad 3.', 'plus')], '101 (the statement of 3)'],
    ['ids, of which the first are named', records(0, 9), '9 of 9 test problems: 0 (the same id), '],
  ])('a test problem with the %s of a training problem is refused', async (_, test, message) => {
    const refusal = load(path, write('t.jsonl', test), write('v.jsonl', records(200, 201)));
    await expect(refusal).rejects.toThrow(UserError);
    await expect(refusal).rejects.toThrow(message);
    await expect(refusal).rejects.toThrow('Take them out of one of the two');
  });

  it('a test problem that stands twice in its file is refused', async () => {
    const test = [record(100, 'Twice.'), record(101, 'Once.'), record(102, 'twice.', 'other')];
    await expect(load(path, write('t.jsonl', test))).rejects.toThrow('1 of 3 again: 102 (the statement of 100)');
  });

  it('a pipe is refused before anybody waits for it', async () => {
    const pipe = join(home, 'pipe.jsonl');
    execFileSync('mkfifo', [pipe]);
    await expect(load(path, pipe)).rejects.toThrow('found a pipe. Write the problems to a file');
  });

  it('a validation problem that is in the test file is refused too', async () => {
    const refusal = load(path, write('t.jsonl', records(100, 102)), write('v.jsonl', records(101, 103)));
    await expect(refusal).rejects.toThrow('validation problems of');
  });

  it.each(['gone.parquet', 'broken.parquet'])('%s is refused by its name', async (name) => {
    if (name.startsWith('broken')) writeFileSync(join(home, name), 'PAR1 but no more');
    await expect(load(path, join(home, name))).rejects.toThrow(`read ${join(home, name)}`);
  });
});

describe("the paper's 119 test problems", () => {
  const real = benchmarkFile;

  if (!existsSync(real)) console.log(`the 119 test problems NOT read as a test file: ${real} is not here`);
  it.skipIf(!existsSync(real))('are all test problems', async () => {
    const path = write('train.jsonl', records(0, 4));
    const { splits, refused } = await load(path, real);
    expect([splits.test.length, refused]).toEqual([119, []]);
    await expect(load(real, real)).rejects.toThrow('(the same id)');
  });
});
