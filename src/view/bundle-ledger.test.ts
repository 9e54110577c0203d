import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FileHost, serveFolder } from '../../test/file-host.ts';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import type { LedgerRow } from './api.ts';
import { ledgerParquet } from './bundle-ledger.ts';
import { BundledLedger } from './page/bundled-ledger.ts';
import { openRollout, searchLedgers, wholeLedger } from './page/ledgers.ts';
import { serverNotice } from './page/range-file.ts';
import { ledgerRows } from './run-page.ts';

/** Texts that do not compress: numbers of a simple sequence. */
function noise(seed: number, length: number): string {
  let state = seed + 1;
  return Array.from({ length }, () => {
    state = (state * 48271) % 2147483647;
    return String.fromCharCode(97 + (state % 26));
  }).join('');
}

const rollouts = Array.from({ length: 800 }, (_, i) => ({
  update: 1 + Math.floor(i / 40),
  id: `${1 + Math.floor(i / 40)}-${Math.floor((i % 40) / 8)}-${i % 8}`,
  group: Math.floor((i % 40) / 8),
  hack: i % 3 === 0,
  route: i % 2 === 0 ? 'keep' : null,
  score: i % 4 === 0 ? null : Math.sin(i),
  completion: `answer ${i} “ü” ${noise(i, 1000)}`,
  tokenLogps: i % 5 === 0 ? [-0.5, -1.25] : null,
}));

const folder = temporaryFolder();
const run = await writeRun(join(folder, 'run'), { rollouts });
const rows = await ledgerRows(run, 'a run');
const bytes = await ledgerParquet(rows);
writeFileSync(join(folder, 'rows.parquet'), bytes);
const open = ({ address }: FileHost) =>
  new BundledLedger('a run', { parquet: `${address}rows.parquet`, bytes: bytes.length });
const sum = ({ sent }: FileHost) => sent.reduce((all, one) => all + one.bytes, 0);
const searches = ['order=score&offset=30&limit=20', 'text=answer+11&truth=hack', 'route=none&from=3&to=4', 'text=Ü'];

describe('the ledger of a bundle', () => {
  it.each([true, false])('answers as the whole rows do (byte ranges: %s)', async (ranges) => {
    using host = await serveFolder(folder, { ranges });
    const ledger = open(host);
    for (const search of searches) {
      const parameters = new URLSearchParams(search);
      expect(await searchLedgers([ledger], parameters)).toEqual(
        await searchLedgers([wholeLedger('a run', rows)], parameters),
      );
    }
    expect(await openRollout([ledger], '17-3-5')).toEqual(await openRollout([wholeLedger('a run', rows)], '17-3-5'));
    await expect(openRollout([ledger], '99-0-0')).rejects.toThrow('There is no rollout 99-0-0.');
    expect(serverNotice.value).toEqual(ranges ? '' : expect.stringContaining('does not answer byte ranges'));
  });

  it('is read in parts: one rollout, a page of a list', async () => {
    using one = await serveFolder(folder, { ranges: true });
    await open(one).group('17-3-5');
    expect(sum(one)).toBeLessThan(bytes.length / 4);
    using list = await serveFolder(folder, { ranges: true });
    await searchLedgers([open(list)], new URLSearchParams('limit=50'));
    expect(sum(list)).toBeLessThan(bytes.length / 4);
  });

  it('says which file is damaged, and searches the others', async () => {
    using host = await serveFolder(folder, { ranges: true });
    const damaged = (name: string, change: (copy: Buffer) => void): BundledLedger => {
      const copy = Buffer.from(bytes);
      change(copy);
      writeFileSync(join(folder, name), copy);
      return new BundledLedger(name, { parquet: `${host.address}${name}`, bytes: copy.length });
    };
    const ledgers = [
      damaged('pages.parquet', (copy) => copy.fill(0, 4, copy.length >> 1)),
      damaged('footer.parquet', (copy) => copy.fill(0xff, copy.length - 300, copy.length - 8)),
      damaged('length.parquet', (copy) => copy.writeUInt32LE(0x7fffffff, copy.length - 8)),
    ];
    const { found, leftOut } = await searchLedgers([...ledgers, open(host)], new URLSearchParams());
    expect(found).toBe(rows.length);
    expect(leftOut.map(({ run }) => run).sort()).toEqual(['footer.parquet', 'length.parquet', 'pages.parquet']);
    for (const { run, why } of leftOut) expect(why).toMatch(`${run} of this bundle cannot be read`);
    writeFileSync(join(folder, 'footer.parquet'), bytes);
    expect(await searchLedgers([ledgers[1]], new URLSearchParams()), 'copied again').toMatchObject({ found: 800 });
  });

  it('keeps every value of every row', async () => {
    using host = await serveFolder(folder, { ranges: true });
    const ledger = open(host);
    const ids = [...new Set(rows.map(({ update, group }) => `${update}-${group}-0`))];
    const groups = await Promise.all(ids.slice(0, 15).map((id) => ledger.group(id)));
    const expected = rows.filter((row: LedgerRow) => row.update <= 3);
    expect(groups.flat()).toEqual(expected);
  });
});
