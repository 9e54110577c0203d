import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { UserError } from '../../base/index.ts';
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
