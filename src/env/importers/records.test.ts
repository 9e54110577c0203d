import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { UserError } from '../../base/index.ts';
import { loadProblems } from './load.ts';
import { readRecords } from './records.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-records-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function file(name: string, bytes: string | Uint8Array): string {
  const path = join(home, name);
  writeFileSync(path, bytes);
  return path;
}

describe('readRecords', () => {
  it('takes a byte order mark', async () => {
    expect(await readRecords(file('bom.jsonl', '\ufeff{"a": 1}\n'))).toMatchObject([{ line: 1, value: { a: 1 } }]);
  });

  it('refuses bytes that are not text', async () => {
    const path = file('latin.jsonl', Uint8Array.of(0x22, 0xe9, 0x22));
    await expect(readRecords(path)).rejects.toThrow(UserError);
    await expect(readRecords(path)).rejects.toThrow(/latin\.jsonl: expected text in UTF-8/);
  });
});

describe('faults of a file', () => {
  it('come all at once in the order of lines; what many lines share comes once', async () => {
    const wrong = (id: number) => `{"id": ${id}, "func_name": "f", "gt_answer": []}`;
    const lines = [...Array.from({ length: 30 }, (_, i) => wrong(i)), '{', '{"other": 1}'];
    const message = await loadProblems(file('wrong.jsonl', lines.join('\n'))).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(message).toContain('found 32 faults:');
    const [first, ...others] = message.split('\n').slice(1, -1);
    expect(first).toMatch(/^ {2}lines 1, 2, 3, 4, 5 and 25 more: .*"prompt".*"gt_answer".*"canonical_solution"/);
    expect(others).toEqual([
      expect.stringMatching(/^ {2}line 31: expected JSON/),
      expect.stringMatching(/^ {2}line 32: expected a benchmark record/),
    ]);
  });

  it('end the reading where there are very many', async () => {
    const path = file('torn.jsonl', '{\n'.repeat(100_000));
    await expect(readRecords(path)).rejects.toThrow(/found 1000 faults or more:\n {2}lines 1, 2, 3, 4, 5 and 995 more/);
  });
});
