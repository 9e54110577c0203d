/** Where an adapter's factors come from: computed once, then read from the cache, or from the initial values of a run. */
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tinyModel } from '../../test/smoke/lab.ts';
import { cacheFolder } from '../base/node/index.ts';
import type { Notice, RunConfig } from '../run/index.ts';
import { writeTensors } from '../run/tensor-file.ts';
import { type OpenModel, openAdapter, openModel, openPairs, parseRunConfig, Resources } from './index.ts';

const resources = new Resources();
const usual = process.env['GQ_CACHE'];
let folder = '';
let config: RunConfig;
let model: OpenModel;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'open-adapter-'));
  process.env['GQ_CACHE'] = join(folder, 'cache');
  const adapter = { family: 'corda', rank: 2 };
  config = await parseRunConfig({ model: await tinyModel(), data: { kind: 'micro' }, adapter });
  model = await openModel(config, resources);
});
afterAll(async () => {
  process.env['GQ_CACHE'] = usual;
  await resources[Symbol.asyncDispose]();
});

test('the initial values of a run are enough: neither the cache nor the pairs are looked at', async () => {
  const { pairs } = await openPairs(config, model.text);
  const first = await openAdapter(config, model, pairs);
  const files = await readdir(cacheFolder('factors'));
  expect(files.length).toBe(first.modules.length);
  const stored = join(folder, 'initial.safetensors');
  await writeTensors(stored, await first.tensors('initial'));
  for (const file of files) await writeFile(join(cacheFolder('factors'), file), 'damaged');
  const told: Notice[] = [];
  const warn = (notice: Notice): void => void told.push(notice);
  const again = await openAdapter(config, model, [], stored, warn);
  expect(await again.tensors()).toEqual(await first.tensors());
  expect(told).toEqual([]);
  const anew = await openAdapter(config, model, pairs, null, warn);
  expect(await anew.tensors()).toEqual(await first.tensors());
  expect(told).toHaveLength(files.length);
  expect(told[0]).toMatchObject({ kind: 'info', name: 'damaged-factors' });
});
