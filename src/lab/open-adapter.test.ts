/** Where an adapter's factors come from: computed once, then read from the cache, or from the initial values of a run. */
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tinyModel } from '../../test/smoke/lab.ts';
import { cacheFolder } from '../base/node/index.ts';
import { writeTensors } from '../run/checkpoint.ts';
import type { Notice } from '../run/index.ts';
import { openAdapter } from './adapter.ts';
import { type Lab, openLab, parseRunConfig } from './index.ts';

const usual = process.env['GQ_CACHE'];
let folder = '';
let lab: Lab;
const told: Notice[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'open-adapter-'));
  process.env['GQ_CACHE'] = join(folder, 'cache');
  const adapter = { family: 'corda', rank: 2 };
  const config = await parseRunConfig({ model: await tinyModel(), data: { kind: 'micro' }, adapter });
  // How long factors take is the machine's; nothing here depends on it.
  const warn = (notice: Notice) => void (notice.name === 'making-factors' || told.push(notice));
  lab = await openLab({ config }, { work: 'unplanned', warn });
});
afterAll(async () => {
  process.env['GQ_CACHE'] = usual;
  await lab[Symbol.asyncDispose]();
});

test('the initial values of a run are enough: neither the cache nor the pairs are looked at', async () => {
  const { adapter: first } = await lab.policy;
  const model = await lab.weights;
  const files = await readdir(cacheFolder('factors'));
  expect(files.length).toBe(first.modules.length);
  const stored = join(folder, 'initial.safetensors');
  await writeTensors(stored, await first.tensors('initial'));
  for (const file of files) await writeFile(join(cacheFolder('factors'), file), 'damaged');
  const { config, parts, warn, signal } = lab;
  const noPairs = Promise.reject(new Error('pairs were asked for'));
  noPairs.catch(() => undefined);
  const given = { config, parts, warn, signal, pairs: noPairs };
  const again = await openAdapter(given, model, { initial: stored, drawn: null });
  expect(await again.tensors()).toEqual(await first.tensors());
  expect(told).toEqual([]);
  const anew = await openAdapter(lab, model, { initial: null, drawn: null });
  expect(await anew.tensors()).toEqual(await first.tensors());
  expect(told).toHaveLength(files.length);
  expect(told[0]).toMatchObject({ kind: 'info', name: 'damaged-factors' });
});
