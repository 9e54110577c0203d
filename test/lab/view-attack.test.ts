/** What may happen to a viewer that others can reach, or whose runs change under it: links, plans, patterns, slow readers, runs that go. */
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Catalogue, RolloutList, RolloutPage, RunPage, TrainingPage } from '../../src/view/api.ts';
import { Changes } from '../../src/view/changes.ts';
import { type RunningView, startView, ViewLibrary } from '../../src/view/index.ts';
import { askView } from '../ask-view.ts';
import { temporaryFolder, writeRun } from './hand-made.ts';

const outside = temporaryFolder();
const root = temporaryFolder();
const completion = `${'a'.repeat(200)}!`;
const made = { rollouts: [{ update: 1, completion }], steps: [{ update: 1 }], finished: false };
const plan = (folders: readonly string[]) => ({
  format: 1,
  experiment: { name: 'plan', seeds: [1], arms: [{ name: 'gate', recipe: 'g.toml' }] },
  runs: folders.map((folder) => ({ arm: 'gate', seed: 1, folder, configHash: '' })),
});

let view: RunningView;
beforeAll(async () => {
  await writeRun(join(outside, 'secret-1'), made);
  for (const name of ['good', 'looped', 'damaged', 'plan/gate-1', 'plan/gate-2', 'broken/gate-0', 'broken/gate-1']) {
    await writeRun(join(root, name), made);
  }
  writeFileSync(join(root, 'broken', 'gate-0', 'manifest.json'), '{}');
  writeFileSync(join(root, 'broken', 'experiment.json'), JSON.stringify(plan(['gate-0', 'gate-1'])));
  writeFileSync(join(root, 'plan', 'gate-2', 'verdicts.jsonl'), '');
  symlinkSync(join(outside, 'secret-1'), join(root, 'linked'));
  rmSync(join(root, 'looped', 'events.jsonl'));
  symlinkSync('events.jsonl', join(root, 'looped', 'events.jsonl'));
  appendFileSync(join(root, 'damaged', 'rollouts.jsonl'), 'not JSON\n');
  const folders = [
    'gate-1',
    'gate-2',
    join('..', '..', outside, 'secret-1'),
    `../${'../'.repeat(20)}${outside}/secret-1`,
  ];
  writeFileSync(join(root, 'plan', 'experiment.json'), JSON.stringify(plan(folders)));
  view = await startView(root, { script: '', style: '' }, { host: '127.0.0.1', port: 0 });
});
afterAll(() => view[Symbol.asyncDispose]());

async function ask<Value>(path: string): Promise<{ status: number; value: Value }> {
  const response = await askView(view, `/api/${path}`);
  return { status: response.status, value: (await response.json()) as Value };
}

describe('a folder that nobody made with care', () => {
  it('shows the runs in it, and none that a link or a plan names elsewhere', async () => {
    const { value } = await ask<Catalogue>('home');
    expect(value.runs.map(({ id, status }) => [id, status])).toEqual([
      ['broken/gate-0', 'damaged'],
      ['broken/gate-1', 'stopped'],
      ['damaged', 'stopped'],
      ['good', 'stopped'],
      ['looped', 'damaged'],
      ['plan/gate-1', 'stopped'],
      ['plan/gate-2', 'stopped'],
    ]);
    expect((await ask('run?id=linked')).status).toBe(400);
  });

  it('says what is damaged, by name, and goes on', async () => {
    const { status, value } = await ask<{ error: string }>('rollouts?id=damaged');
    expect([status, value.error]).toEqual([400, expect.stringContaining('rollouts.jsonl: expected JSON on line 2')]);
    expect((await ask<RolloutList>('rollouts?id=good')).value.found).toBe(1);
    const { found, leftOut } = (await ask<RolloutList>('rollouts?id=plan')).value;
    expect(found).toBe(1);
    expect(leftOut).toEqual([{ run: 'plan/gate-2', why: expect.stringContaining('a verdict of rollout 1-0-0') }]);
  });

  it('draws the runs of an experiment that can be read, and opens their rollouts', async () => {
    const { runs, leftOut } = (await ask<TrainingPage>('training?id=broken')).value;
    expect([runs.length, leftOut.map(({ run }) => run)]).toEqual([1, ['broken/gate-0']]);
    expect((await ask<RolloutPage>('rollout?id=broken&rollout=1-0-0')).value.rollout.run).toBe('broken/gate-1');
  });

  it('answers an address that is none', async () => {
    const { port } = new URL(view.address);
    const socket = connect(Number(port), '127.0.0.1');
    socket.end(`GET // HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
    let text = '';
    for await (const part of socket) text += part;
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('a search', () => {
  it('of many runs is told in parts, to the end', async () => {
    for (const name of ['gate-1', 'gate-2', 'gate-3']) await writeRun(join(root, 'parts', name), made);
    const folders = ['gate-1', 'gate-2', 'gate-3'];
    writeFileSync(join(root, 'parts', 'experiment.json'), JSON.stringify(plan(folders)));
    const library = new ViewLibrary(root, undefined, 0);
    const search = new URLSearchParams({ id: 'parts', text: 'A!' });
    const lists: RolloutList[] = [];
    do {
      lists.push((await library.answer('rollouts', search)) as RolloutList);
    } while (lists.at(-1)?.unread !== 0 && lists.length < 5);
    expect(lists.map(({ unread, found, total }) => [unread, found, total])).toEqual([
      [2, 1, 1],
      [1, 2, 2],
      [0, 3, 3],
    ]);
    expect(lists[2]).toEqual(await new ViewLibrary(root, undefined, 60_000).answer('rollouts', search));
    rmSync(join(root, 'parts'), { recursive: true });
  });

  it('that would go on for ever is stopped', async () => {
    const library = new ViewLibrary(root, 200);
    const search = new URLSearchParams({ id: 'good', text: '^(a+)+$', pattern: '1' });
    await expect(library.answer('rollouts', search)).rejects.toThrow('expected a search that ends within 0.2 s');
    search.set('text', '^a+!$');
    expect(await library.answer('rollouts', search)).toMatchObject({ found: 1 });
  });
});

describe('pages that listen', () => {
  it('are told by one look, a hundred of them, and one that reads nothing is cut off', async () => {
    using changes = new Changes(new ViewLibrary(root), 20);
    const pages = Array.from({ length: 100 }, () => new PassThrough());
    const slow = new PassThrough();
    slow.write(Buffer.alloc(1 << 18));
    for (const page of [...pages, slow]) changes.listen(page);
    for (const page of pages) page.resume();
    await expect.poll(() => slow.destroyed).toBe(true);
    expect(pages.some(({ destroyed }) => destroyed)).toBe(false);
  });
});

describe('a run that grows all the time', () => {
  it('is told within a second, then every five', async () => {
    const path = join(root, 'growing');
    await writeRun(path, made);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance', 'Date'] });
    onTestFinished(() => {
      vi.useRealTimers();
      rmSync(path, { recursive: true });
    });
    using changes = new Changes(new ViewLibrary(root));
    let told = '';
    const write = (text: Buffer, _encoding: string, done: () => void): void => {
      told += text.toString();
      done();
    };
    changes.listen(new Writable({ write }));
    const counts = Array.from({ length: 12 }, () => {
      appendFileSync(join(path, 'events.jsonl'), '{"kind":"heal","update":1,"losses":[]}\n');
      vi.advanceTimersByTime(1000);
      return told.split('"growing"').length - 1;
    });
    expect(counts).toEqual([1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3]);
    vi.advanceTimersByTime(5000);
    expect(told.split('"growing"'), 'the last change is told though nothing more comes').toHaveLength(5);
  });
});

describe('a run that is watched', () => {
  const path = join(root, 'watched');
  it('is read on as it grows', async () => {
    await writeRun(path, made);
    await wait(1001);
    expect((await ask<RunPage>('run?id=watched')).value.steps).toHaveLength(1);
    const step = { kind: 'step', update: 2, routes: { keep: 0, absorb: 0, route: 0 }, meanReward: 0.5 };
    appendFileSync(join(path, 'events.jsonl'), `${JSON.stringify(step)}\n`);
    const { steps, training } = (await ask<RunPage>('run?id=watched')).value;
    expect(steps.map(({ update, reward }) => [update, reward])).toEqual([
      [1, null],
      [2, 0.5],
    ]);
    expect(training).toHaveLength(1);
  });

  it('may be pruned or deleted', async () => {
    rmSync(join(path, 'checkpoints'), { recursive: true });
    mkdirSync(join(path, 'checkpoints'));
    expect((await ask('run?id=watched')).status).toBe(200);
    rmSync(path, { recursive: true });
    for (const page of ['run', 'rollouts', 'gate', 'answers']) {
      expect([page, (await ask(`${page}?id=watched`)).status]).toEqual([page, 400]);
    }
    expect((await ask('home')).status).toBe(200);
  });
});
