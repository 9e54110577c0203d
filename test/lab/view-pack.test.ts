/** A pack that trains, seen by the viewer: each of its runs by itself, while it goes on. */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Answers } from '../../src/view/api.ts';
import { openPage, type RunningView, startView } from '../../src/view/index.ts';
import { changedIds } from '../../src/view/page/live.ts';
import { askView } from '../ask-view.ts';
import { packSettings, writePackRecipe } from '../resume/packs.ts';
import { gq } from '../run-gq.ts';
import { temporaryFolder } from './hand-made.ts';

const home = temporaryFolder();
const ids = ['vanilla-1', 'activation-1', 'gradient-1'].map((name) => `three/${name}`);

let view: RunningView;
beforeAll(async () => {
  view = await startView(home, await openPage(), { host: '127.0.0.1', port: 0 });
});
afterAll(() => view[Symbol.asyncDispose]());

async function ask<Kind extends 'home' | 'changes' | 'run'>(kind: Kind, query = ''): Promise<Answers[Kind]> {
  return (await askView(view, `/api/${kind}${query}`)).json() as Promise<Answers[Kind]>;
}

/** The updates of all runs that train now, by their ids. */
async function updatesNow(): Promise<ReadonlyMap<string, number>> {
  const { runs } = await ask('home');
  return new Map(runs.filter(({ status }) => status === 'running').map(({ id, update }) => [id, update]));
}

it('every run of a pack that trains is there, running, and grows from look to look', async () => {
  const recipe = join(home, 'three.toml');
  writePackRecipe(recipe);
  // So many that it is interrupted in the middle, however slow the viewer is.
  const settings = await packSettings(5_000);
  let isDone = false;
  const packed = gq('experiment', recipe, '--out', join(home, 'three'), '--pack', '3', ...settings).finally(() => {
    isDone = true;
  });
  const until = async <Value>(look: () => Promise<Value>, holds: (value: Value) => boolean): Promise<Value> => {
    for (;;) {
      const value = await look();
      if (holds(value)) return value;
      if (isDone) throw new Error(`the pack ended before: ${JSON.stringify(value)}`);
      await setImmediate();
    }
  };
  const first = await until(updatesNow, (now) => ids.every((id) => (now.get(id) ?? 0) > 0));
  const stamps = await ask('changes');
  const later = await until(updatesNow, (now) => ids.every((id) => (now.get(id) ?? 0) > (first.get(id) ?? 0)));
  await until(
    () => ask('changes'),
    (now) => ids.every((id) => changedIds(stamps, now).includes(id)),
  );
  for (const id of ids) {
    const page = await ask('run', `?id=${id}`);
    expect(JSON.stringify(page).length).toBeGreaterThan(1000);
    expect(page).toMatchObject({ run: { id, status: 'running' } });
    expect(page.run.update).toBeGreaterThanOrEqual(later.get(id) ?? 0);
  }
  process.emit('SIGINT');
  expect(await packed).toMatchObject({ code: 75 });
  const { runs } = await ask('home');
  expect(runs.map(({ id, status }) => [id, status])).toEqual(ids.map((id) => [id, 'stopped']));
});
