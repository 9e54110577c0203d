/** The lab as it is bundled for browsers, run here: it must leave the bytes of the command line. test/browser/playground.ts does the same in Chromium. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TabLab, TabOptions } from '../../src/browser/lab.ts';
import { adapterHash } from '../../src/grpo/index.ts';
import { openLab } from '../../src/lab/open.ts';
import type { RunConfig } from '../../src/run/index.ts';
import { browserMap } from '../../src/view/browser-map.ts';
import { playgroundArms } from '../../src/view/playground.ts';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tab-lab-'));
const names = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'];
const read = (path: string): Uint8Array => new Uint8Array(readFileSync(join(root, path)));
let bundled: { readonly TabLab: typeof TabLab };

beforeAll(async () => {
  const outfile = join(folder, 'lab.mjs');
  await build({
    entryPoints: [join(root, 'src/entry/browser.ts')],
    ...{ bundle: true, format: 'esm', platform: 'browser', target: 'es2022', outfile },
    plugins: [browserMap()],
  });
  bundled = (await import(pathToFileURL(outfile).href)) as typeof bundled;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function openTab(config: RunConfig): Promise<TabLab> {
  const model = config.model === 'micro' ? join(root, 'models/micro') : config.model;
  const options: TabOptions = {
    config,
    files: {
      model: Object.fromEntries(names.map((name) => [name, new Uint8Array(readFileSync(join(model, name)))])),
      pairs: new TextDecoder().decode(read('data/pairs/micro.md')),
    },
    ...{ threads: 1, variant: 'plain', arenaBytes: 2 ** 28 },
    loadModule: async (variant, shared) =>
      read(`src/engine/wasm/kernels/${shared ? `${variant}-shared` : variant}.wasm`),
  };
  return bundled.TabLab.open(options);
}

const small = (config: RunConfig): RunConfig => ({
  ...config,
  updates: 2,
  device: { ...config.device, threads: 1 },
  sampling: { ...config.sampling, promptsPerStep: 2, group: 4 },
});

const [first, ...others] = playgroundArms(2);
/** The first arm trains the model of the page; the others differ in nothing that depends on the model's size. */
const trained = [
  [first.name, 'micro', first.config],
  ...others.map(({ name, config }) => [name, 'tiny', config] as const),
] as const;

test.each(trained)('%s, the %s model: two updates leave the adapter of the command line', async (_, size, whole) => {
  const config = small(size === 'micro' ? whole : { ...whole, model: await tinyModel() });
  // A step tells the adapter that sampled, so that of the last update is asked for.
  const hashes: string[] = [];
  await using lab = await openLab({ config });
  const { trainer, policy } = await lab.trainer;
  for await (const event of trainer.train()) if (event.kind === 'step') hashes.push(event.adapterHash);
  hashes.push(await adapterHash(policy));
  using tab = await openTab(config);
  const found: string[] = [];
  for await (const event of tab.train()) if (event.kind === 'step') found.push(event.adapterHash);
  found.push(await tab.hash());
  expect(found).toEqual(hashes);
  expect(new Set(found).size).toBeGreaterThan(size === 'micro' ? 1 : 2);
  expect(tab.judge.outside).toBe(0);
  const rates = await tab.rates('deployed', 4);
  expect(rates.prompts).toBe(4);
});

test('what a page cannot do is refused by name', async () => {
  const [{ config }] = playgroundArms(1);
  const sharded = { ...config, parallel: { ...config.parallel, shards: 2 } };
  await expect(openTab(sharded)).rejects.toThrow('a pool, or several ranks');
  await expect(openTab({ ...config, arm: { kind: 'oracle' } } as RunConfig)).rejects.toThrow('the arm oracle');
});

test('gq playground writes all that the page needs, and nothing into a folder that is there', async () => {
  const to = join(folder, 'site');
  const { code, out } = await gq('playground', '--to', to, '--json');
  const { gzippedBytes, files } = JSON.parse(out) as { gzippedBytes: number; files: number };
  expect([code, files]).toEqual([
    0,
    readdirSync(to, { recursive: true, withFileTypes: true }).filter((each) => each.isFile()).length,
  ]);
  expect(gzippedBytes).toBeLessThan(12e6);
  expect(readFileSync(join(to, 'index.html'), 'utf8')).toContain('page.js');
  const again = await gq('playground', '--to', to);
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('--to')]);
});
