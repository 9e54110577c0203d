/** What may happen to a viewer that others can reach, or whose runs change under it: links, plans, patterns, slow readers, runs that go. */
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalogue, RunPage, TrainingPage } from '../../src/view/api.ts';
import { parseQuery, type RunningView, startView, ViewLibrary } from '../../src/view/index.ts';
import { askView } from '../ask-view.ts';
import { pageRollouts } from '../page-rollouts.ts';
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
  writeFileSync(join(root, 'plan', 'experiment.json'), JSON.stringify(plan(['gate-1', 'gate-2'])));
  const elsewhere = [join('..', '..', outside, 'secret-1'), `../${'../'.repeat(20)}${outside}/secret-1`];
  for (const [i, folder] of elsewhere.entries()) {
    mkdirSync(join(root, `elsewhere-${i}`));
    writeFileSync(join(root, `elsewhere-${i}`, 'experiment.json'), JSON.stringify(plan([folder])));
  }
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
    const told = value.experiments.flatMap(({ id, why }) => (id.startsWith('elsewhere') ? [why] : []));
    expect(told).toEqual([expect.stringContaining('runs.0.folder'), expect.stringContaining('runs.0.folder')]);
    expect((await ask('run?id=linked')).status).toBe(400);
  });

  it('says what is damaged, by name, and goes on', async () => {
    const page = pageRollouts(view);
    const everything = new URLSearchParams();
    await expect(page.list('damaged', everything)).rejects.toThrow('rollouts.jsonl: expected JSON on line 2');
    expect((await page.list('good', everything)).found).toBe(1);
    const { found, leftOut } = await page.list('plan', everything);
    expect(found).toBe(1);
    expect(leftOut).toEqual([{ run: 'plan/gate-2', why: expect.stringContaining('a verdict of rollout 1-0-0') }]);
  });

  it('draws the runs of an experiment that can be read, and opens their rollouts', async () => {
    const { runs, leftOut } = (await ask<TrainingPage>('training?id=broken')).value;
    expect([runs.length, leftOut.map(({ run }) => run)]).toEqual([1, ['broken/gate-0']]);
    expect((await pageRollouts(view).rollout('broken', '1-0-0')).rollout.run).toBe('broken/gate-1');
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
  it('of the terminal that would go on for ever is stopped', async () => {
    const library = new ViewLibrary(join(root, 'good'));
    const search = (text: string) => parseQuery(new URLSearchParams({ text, pattern: '1' }));
    await expect(library.search(search('^(a+)+$'), 200)).rejects.toThrow('expected a search that ends within 0.2 s');
    expect((await library.search(search('^a+!$'))).counts).toMatchObject({ found: 1 });
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
    for (const page of ['run', 'files', 'gate', 'answers']) {
      expect([page, (await ask(`${page}?id=watched`)).status]).toEqual([page, 400]);
    }
    expect((await ask('home')).status).toBe(200);
  });
});
