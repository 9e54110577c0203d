/** The three homes of the page: what it reads from a server, from a folder on a web server, and from within view.html. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { serveFolder } from '../../test/file-host.ts';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { sealRun } from '../oracle/verdicts.ts';
import { writeBundle } from './bundle.ts';
import { startView } from './server.ts';

const root = temporaryFolder();
const out = join(root, 'bundle');
const rollouts = [1, 2, 3].flatMap((update) => [
  { update, hack: true, route: 'route', score: update, low: 0, high: 1, completion: `def run_tests ${update} “ü”` },
  { update, solve: true, route: 'keep', score: -update, low: 0, high: 1, completion: 'return n' },
]);
const sealed = await writeRun(join(root, 'runs', 'sealed'), { rollouts, checkpoints: [0, 3] });
await sealRun(sealed);
await writeRun(join(root, 'runs', 'stopped'), { rollouts, checkpoints: [0, 3], finished: false });
await writeBundle(join(root, 'runs'), out, { script: '', style: '' });

const fetched = globalThis.fetch;

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The page's source of answers, in a document that says which home it has. */
async function openSource(home: string, data = '') {
  const meta = { getAttribute: () => home };
  const addEventListener = () => undefined;
  vi.stubGlobal('document', {
    addEventListener,
    querySelector: () => meta,
    getElementById: () => ({ textContent: data }),
  });
  return (await import('./page/source.ts')).source;
}

async function checkSource(source: Awaited<ReturnType<typeof openSource>>): Promise<void> {
  for (const run of ['sealed', 'stopped']) {
    const list = await source.rollouts.list(run, new URLSearchParams('text=RUN_TESTS&order=score&limit=2'));
    expect(list).toMatchObject({ total: 6, found: 3, facets: { truth: { hack: 3 } } });
    expect(list.rows.map(({ id, excerpt }) => [id, excerpt])).toEqual([
      ['3-0-4', 'def run_tests 3 “ü”'],
      ['2-0-2', 'def run_tests 2 “ü”'],
    ]);
    const { rollout, group } = await source.rollouts.rollout(run, '2-0-3');
    expect(rollout).toMatchObject({ run, solve: true, attempt: false, outcome: 'wrong', markers: 'original' });
    expect(group.map(({ id }) => id)).toEqual(['2-0-2', '2-0-3']);
    expect(await source.ask('run', run)).toMatchObject({ run: { id: run } });
  }
  await expect(source.rollouts.rollout('sealed', '9-9-9')).rejects.toThrow('the id of a rollout of sealed');
  await expect(source.ask('run', 'nobody')).rejects.toThrow(/does not have that page|expected the id of a run/);
}

it('a server: the files of the runs are read where they lie', async () => {
  await using view = await startView(join(root, 'runs'), { script: '', style: '' }, { host: '127.0.0.1', port: 0 });
  const asked: string[] = [];
  vi.stubGlobal('fetch', (name: string, { headers, ...rest }: RequestInit = {}) => {
    asked.push(name);
    const authorization = `Bearer ${view.token}`;
    return fetched(new URL(name, view.address), { ...rest, headers: { ...headers, authorization } });
  });
  const source = await openSource('server');
  await checkSource(source);
  const filesAsked = () => asked.filter((name) => name === 'api/files?id=sealed').length;
  expect(filesAsked(), 'a run that is over is asked for once').toBe(1);
  const { changed } = await import('./page/live.ts');
  changed.value = { ids: ['sealed'], count: 1 };
  await checkSource(source);
  expect(filesAsked(), 'and again when its files have changed').toBe(2);
  expect(asked).toContain('api/file?id=sealed&name=rollouts.parquet');
  expect(asked).toContain('api/file?id=stopped&name=verdicts.jsonl');
});

it('a folder: answers and the files of the runs lie beside the page', async () => {
  using host = await serveFolder(out, { ranges: true });
  vi.stubGlobal('fetch', (name: string, options?: RequestInit) => fetched(new URL(name, host.address), options));
  await checkSource(await openSource('folder'));
  expect(host.sent.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^\/data\/\d+-rollouts\.parquet$/));
});

it('view.html: the bytes of the same files are inside', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new Error('nothing is asked of the network')));
  const html = readFileSync(join(out, 'view.html'), 'utf8');
  await checkSource(await openSource('file', /<script id="gq-data"[^>]*>([^<]*)</.exec(html)?.[1]));
});
