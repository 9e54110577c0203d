/** The page reads the rollouts of a run from the run's own files: sealed and growing, from a server of ranges and from one without. */
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FileHost, serveFolder } from '../../test/file-host.ts';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { openJudged, sealRun } from '../oracle/verdicts.ts';
import { RunDirectory } from '../run/directory.ts';
import { PageRollouts } from './page/page-rollouts.ts';
import { RangeFile, serverNotice } from './page/range-file.ts';
import { runFiles } from './run-files.ts';

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
const made = { rollouts, checkpoints: [0, 20] };
const sealed = await writeRun(join(folder, 'sealed'), made);
await writeRun(join(folder, 'lines'), made);
await sealRun(sealed);
const size = statSync(sealed.file('rollouts.parquet')).size;

const pageOf = ({ address }: FileHost, runs: readonly string[] = []) =>
  new PageRollouts({
    runs: async (id) => (runs.length === 0 ? [id] : runs),
    files: async (run) => runFiles(RunDirectory.open(join(folder, run)), (name) => `${address}${run}/${name}`),
    open: (file, isSealed) => new RangeFile(file, isSealed),
  });
const sum = ({ sent }: FileHost) => sent.reduce((all, one) => all + one.bytes, 0);
const ask = (page: PageRollouts, id: string, search: string) => page.list(id, new URLSearchParams(search));

describe('the rollouts of a page', () => {
  it.each([true, false])('are the same from Parquet and from lines (byte ranges: %s)', async (ranges) => {
    using host = await serveFolder(folder, { ranges });
    const page = pageOf(host);
    for (const search of [
      'order=score&offset=30&limit=20',
      'text=answer+11&truth=hack',
      'route=none&from=3&to=4',
      'text=Ü',
    ]) {
      const [whole, growing] = [await ask(page, 'sealed', search), await ask(page, 'lines', search)];
      const named = JSON.parse(JSON.stringify(growing).replaceAll('"lines"', '"sealed"'));
      expect(named).toEqual(whole);
      expect(whole.rows.length).toBeGreaterThan(0);
    }
    await expect(page.rollout('sealed', '99-0-0')).rejects.toThrow('the id of a rollout of sealed');
    expect(serverNotice.value).toEqual(ranges ? '' : expect.stringContaining('does not answer byte ranges'));
  });

  it('have every value of every row', async () => {
    using host = await serveFolder(folder, { ranges: true });
    const page = pageOf(host);
    const expected = await (await openJudged(sealed)).rows();
    for (const place of [0, 17, 799]) {
      const { rollout, group } = await page.rollout('sealed', expected[place].id);
      expect(rollout).toEqual({ run: 'sealed', ...expected[place] });
      expect(group).toHaveLength(8);
    }
  });

  it('are read in parts: one rollout, a page of a list', async () => {
    using one = await serveFolder(folder, { ranges: true });
    await pageOf(one).rollout('sealed', '17-3-5');
    expect(sum(one)).toBeLessThan(size / 3);
    using list = await serveFolder(folder, { ranges: true });
    await ask(pageOf(list), 'sealed', 'limit=50');
    expect(sum(list)).toBeLessThan(size / 3);
  });

  it('says which file is damaged, searches the others, and reads it again once it is whole', async () => {
    using host = await serveFolder(folder, { ranges: true });
    const bytes = readFileSync(sealed.file('rollouts.parquet'));
    const damages: Readonly<Record<string, (copy: Buffer) => void>> = {
      pages: (copy) => copy.fill(0, 4, copy.length >> 1),
      footer: (copy) => copy.fill(0xff, copy.length - 300, copy.length - 8),
      length: (copy) => void copy.writeUInt32LE(0x7fffffff, copy.length - 8),
    };
    for (const [name, damage] of Object.entries(damages)) {
      const run = await writeRun(join(folder, name), made);
      await sealRun(run);
      const copy = Buffer.from(bytes);
      damage(copy);
      writeFileSync(run.file('rollouts.parquet'), copy);
    }
    const page = pageOf(host, [...Object.keys(damages), 'sealed']);
    const { found, leftOut } = await ask(page, 'all', '');
    expect([found, leftOut.map(({ run }) => run)]).toEqual([800, Object.keys(damages)]);
    for (const { run, why } of leftOut) expect(why).toContain(`${run}/rollouts.parquet: expected a whole Parquet file`);
    writeFileSync(join(folder, 'footer', 'rollouts.parquet'), bytes);
    expect(await ask(page, 'all', ''), 'copied again').toMatchObject({ found: 1600 });
  });

  it('of a run that is trained grow with it, and begin again when it was cut back and has grown since', async () => {
    using host = await serveFolder(folder, { ranges: true });
    const run = await writeRun(join(folder, 'growing'), { ...made, finished: false });
    const texts = (['rollouts', 'verdicts'] as const).map((name) => {
      const path = run.ledger(name);
      return { path, lines: readFileSync(path, 'utf8').split(/(?<=\n)/) };
    });
    const write = (from: number, to: number) => {
      for (const { path, lines: all } of texts) appendFileSync(path, all.slice(from, to).join(''));
    };
    const cut = () => {
      for (const { path } of texts) truncateSync(path, 0);
    };
    const page = pageOf(host);
    const look = async () => (await ask(page, 'growing', 'limit=500')).rows.map(({ id }) => id);
    const ids = rollouts.map(({ id }) => id);
    cut();
    expect(await look()).toEqual([]);
    write(0, 100);
    expect(await look()).toEqual(ids.slice(0, 100));
    const before = sum(host);
    write(100, 101);
    appendFileSync(run.ledger('rollouts'), '{"id":"torn');
    expect(await look()).toEqual(ids.slice(0, 101));
    expect(sum(host) - before, 'only what was added, and the texts that are shown').toBeLessThan(20_000);
    cut();
    write(200, 350);
    expect(await look()).toEqual(ids.slice(200, 350));
    await sealRun(run);
    expect(await look()).toEqual(ids.slice(200, 350));
  });
});
