/** The lab as it is bundled for browsers, run here: it must leave the bytes of the command line. test/browser/playground.ts does the same in Chromium. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type HeapProfiler, Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findStart } from '../../src/adapters/index.ts';
import type { TabLab, TabOptions } from '../../src/browser/lab.ts';
import { letGo } from '../../src/browser/record.ts';
import { demoExperiment } from '../../src/cli/commands/demo.ts';
import { adapterHash, type TrainerState } from '../../src/grpo/index.ts';
import { resolveBuiltin } from '../../src/lab/config.ts';
import { armOf, builtinParts } from '../../src/lab/index.ts';
import { planMemory } from '../../src/lab/memory/plan.ts';
import { openLab } from '../../src/lab/open.ts';
import { train } from '../../src/lab/train.ts';
import { type RunConfig, RunDirectory } from '../../src/run/index.ts';
import { browserMap } from '../../src/view/build-page.ts';
import { manifestFrame, playgroundArms, playgroundPlan } from '../../src/view/playground.ts';
import { configOf, linkOf, readLink, usualPrompt } from '../../src/view/playground-plan.ts';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tab-lab-'));
const names = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'];
const read = (path: string): Uint8Array => new Uint8Array(readFileSync(join(root, path)));
let bundled: typeof import('../../src/entry/browser.ts');

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

function filesOf(model: string): Record<string, Uint8Array> {
  const folder = model === 'micro' ? join(root, 'models/micro') : model;
  return Object.fromEntries(names.map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]));
}

function openTab(config: RunConfig, model = filesOf(config.model)): Promise<TabLab> {
  const options: TabOptions = {
    config,
    files: {
      model,
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

const canTransfer = 'transfer' in ArrayBuffer.prototype;
const heldBytes = ({ adapter, moments }: TrainerState): number =>
  [...adapter.values(), ...[...moments.values()].flatMap(({ m, v }) => [m, v])].reduce(
    (sum, { data }) => sum + data.byteLength,
    0,
  );

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
  for await (const event of tab.train()) {
    if (event.kind !== 'step') continue;
    found.push(event.adapterHash);
    // As the page does when it has kept it.
    const state = await tab.trainer.state();
    letGo(state);
    expect(canTransfer ? heldBytes(state) : 0).toBe(0);
  }
  found.push(await tab.hash());
  expect(found).toEqual(hashes);
  expect(new Set(found).size).toBeGreaterThan(1);
  expect(tab.judge.outside).toBe(0);
  const both = await tab.answers(['full', 'deployed'], 4);
  expect(both.map((own) => bundled.ratesOf(own).prompts)).toEqual([4, 4]);
  const apart = [...(await tab.answers(['full'], 4)), ...(await tab.answers(['deployed'], 4))];
  expect(apart).toEqual(both);
  // What is written again is not judged again.
  expect(apart[0][0]).toBe(both[0][0]);
});

test('the GPU is asked for only where the config says webgpu, and other devices are refused', async () => {
  const on = (kind: RunConfig['device']['kind']) => ({ ...first.config, device: { ...first.config.device, kind } });
  await expect(openTab(on('webgpu'))).rejects.toThrow(/a browser with WebGPU, found no navigator\.gpu.*https/s);
  await expect(openTab(on('cuda'))).rejects.toThrow(/the device cuda/);
});

test('an open lane holds none of the files that it was opened with', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const files = filesOf('micro');
  const weights = new WeakRef(files['model.safetensors']);
  using tab = await openTab(first.config, files);
  for (const name of names) delete files[name];
  // A reference that has been read holds until the end of the task.
  await new Promise((resolve) => setTimeout(resolve));
  collect();
  expect(weights.deref()).toBeUndefined();
  expect(tab.hasQuarantine).toBe(false);
});

/** It is 51 to 63 MB, by the version of Node and by how much of the code is compiled by then, which a busy machine does later; it was 85. */
const mostGarbageBytes = 72e6;

test('an update with its answers allocates little: what outlives its collections makes the heap of a lane grow', async () => {
  const { config } = playgroundArms(100).find(({ name }) => name === 'quarantine') ?? first;
  using tab = await openTab(config);
  const inspector = new Session();
  inspector.connect();
  const [warm, measured] = [2, 2];
  let update = 0;
  for await (const { kind } of tab.train()) {
    if (kind !== 'step') continue;
    update += 1;
    tab.takePieces();
    await tab.answers(['full', 'deployed'], 32);
    if (update === warm) await inspector.post('HeapProfiler.startSampling', sampled);
    if (update === warm + measured) break;
  }
  const { profile } = await inspector.post('HeapProfiler.stopSampling');
  expect(bytesOf(profile.head) / measured).toBeLessThan(mostGarbageBytes);
  expect(bytesOf(profile.head) / measured).toBeGreaterThan(1e6);
});

const sampled = {
  samplingInterval: 4096,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
};
const bytesOf = ({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number =>
  children.reduce((sum, child) => sum + bytesOf(child), selfSize);

/** With packed weights and the device's own memory a lane then holds less than 100 MB. */
const mostUpdateBytes = 60e6;

const arms = playgroundArms(100).map(({ name, config }) => [name, config] as const);

test.each(arms)('%s: its largest update fits into the memory of a lane', async (_, config) => {
  await using lab = await openLab({ config });
  const [device, { folder: model }, tasks] = await Promise.all([lab.device, lab.model, lab.tasks]);
  const [arm, start] = [armOf(config, builtinParts), findStart(config.adapter.family)];
  const has = (kernel: string): boolean => kernel in device.kernels;
  const plan = await planMemory({ config, arm, start, decoder: model.config, tasks, floats: device.floats, has });
  expect(plan.totalBytes - plan.marginBytes).toBeLessThan(mostUpdateBytes);
});

test('a run of the page, downloaded after one update, is the run that the command line leaves, and goes on there', async () => {
  const arm = playgroundArms(2).find(({ name }) => name === 'quarantine') ?? first;
  const config = small({ ...arm.config, model: await tinyModel() });
  using tab = await openTab(config);
  for await (const { kind } of tab.train()) if (kind === 'step') break;
  const files = await tab.files(await manifestFrame(config), 'page', [tab.takePieces()]);
  writeFileSync(join(folder, 'page.tar'), bundled.tarOf('page', files));
  execFileSync('tar', ['xf', join(folder, 'page.tar'), '-C', folder]);
  const [page, straight] = [join(folder, 'page'), join(folder, 'straight')];
  const results = await gq('results', page);
  expect([results.code, results.out]).toEqual([0, expect.stringContaining('own mean')]);
  await train(config, page);
  await train(config, straight);
  const bytes = (run: string, file: string): string => readFileSync(join(run, file), 'latin1');
  for (const file of ['events.jsonl', 'rollouts.parquet', 'directions.f32', 'initial.safetensors']) {
    expect(bytes(page, file)).toBe(bytes(straight, file));
  }
  for (const file of ['adapter.safetensors', 'trainer.safetensors', 'state.json']) {
    expect(bytes(page, `checkpoints/00002/${file}`)).toBe(bytes(straight, `checkpoints/00002/${file}`));
  }
  const [made, own] = [page, straight].map((run) => RunDirectory.open(run).readManifest());
  const { name, created, command, device } = made;
  expect(made).toEqual({ ...own, name, created, command, device });
});

const ofPages = ['output.storeFeatures=false', 'device.kind=wasm', 'device.variant=plain', 'compute.tokensPerPass=512'];

test('the first three arms are those of gq demo', () => {
  const demo = demoExperiment(1, true);
  const made = demo.arms.map(({ recipe, set }) => {
    return resolveBuiltin(join(root, 'recipes', recipe), [...demo.set, ...set, ...ofPages, 'seed=1']).config;
  });
  const shown = playgroundArms(40).slice(0, made.length);
  expect(shown.map(({ config }) => ({ ...config, seed: 1 }))).toEqual(made);
});

test('what sliders and links set is what the command line makes of the same keys', () => {
  const plan = playgroundPlan(7);
  const link =
    '#seed=3&unhackableFraction=0.25&left=penalty%2C+labels&left.recall=0.6&left.penalty=9&right=quarantine&right.recall=x&prompt=7&deleted=yes&at=5';
  const { choice, look, faults } = readLink(link, plan);
  expect(faults).toEqual([
    'left.penalty is “9” in the link, expected a number from 0 to 6; “3” is used.',
    '“right.recall” in the link is no setting here.',
  ]);
  const settings = [
    'arm.kind=penalty',
    'arm.monitor.kind=oracle',
    'arm.monitor.target=attempt',
    'arm.monitor.recall=0.6',
  ];
  const others = ['arm.monitor.falsePositiveRate=0', 'seed=3', 'updates=7', ...ofPages];
  const world = ['environment.unhackableFraction=0.25'];
  const made = resolveBuiltin(join(root, 'recipes/micro-base.toml'), [...settings, ...others, ...world]);
  expect(configOf(plan, choice, 0)).toEqual(made.config);
  expect(look).toEqual({ prompt: 6, deleted: true, at: 5 });
  expect(readLink(linkOf(choice, look), plan)).toEqual({ choice, look, faults: [] });
  expect(linkOf(choice, { prompt: usualPrompt, deleted: false, at: 0 })).not.toMatch(/prompt|deleted|at=/);
  expect(choice.lanes[1]).toEqual({ arm: 'quarantine', values: {} });
});

test('a very small number is the same in the link that the page writes', () => {
  const plan = playgroundPlan(7);
  const { choice, look, faults } = readLink('#unhackableFraction=0.00000001', plan);
  expect(choice.world).toEqual({ 'environment.unhackableFraction': 1e-8 });
  expect(readLink(linkOf(choice, look), plan)).toEqual({ choice, look, faults });
});

test.each([
  ['seed=', 'seed is “”'],
  ['seed=+1', 'seed is “ 1”'],
  ['seed=0x10', 'seed is “0x10”'],
  ['seed=9007199254740993', 'seed is “9007199254740993”'],
  ['seed=1&seed=2', 'seed is “1” and “2”'],
  ['prompt=2&prompt=3&prompt=4&prompt=5&prompt=6', 'prompt is “2” and “3” and “4” and 2 more in the link'],
  ['learningRate=', 'learningRate is “”'],
  ['learningRate=1', 'learningRate is “1”'],
  ['left=', 'left is “”'],
  ['left=__proto__', 'left is “__proto__”'],
  ['left=penalty%2C+labels&left.recall=', 'left.recall is “”'],
  ['left=penalty%2C+labels&left.recall=NaN', 'left.recall is “NaN”'],
  ['prompt=33', 'prompt is “33”'],
  ['deleted=maybe', 'deleted is “maybe”'],
  [`${'x'.repeat(60)}=1`, `“${'x'.repeat(40)}…” in the link is no setting`],
])('a link with %s leaves the usual value, and it is told', (link, words) => {
  const plan = playgroundPlan(7);
  const { choice, look, faults } = readLink(`#${link}`, plan);
  const { choice: usual, look: usualLook } = readLink(
    `#${link.startsWith('left=penalty') ? 'left=penalty%2C+labels' : ''}`,
    plan,
  );
  expect([choice, look]).toEqual([usual, usualLook]);
  expect(faults).toEqual([expect.stringContaining(words)]);
});

test('what a page cannot do is refused by name', async () => {
  const [{ config }] = playgroundArms(1);
  const sharded = { ...config, parallel: { ...config.parallel, shards: 2 } };
  await expect(openTab(sharded)).rejects.toThrow('a pool, or several ranks');
  await expect(openTab({ ...config, arm: { kind: 'none such' } } as RunConfig)).rejects.toThrow('the arm none such');
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
  const worker = readFileSync(join(to, 'lane.js'));
  // One character beyond ASCII would double what a browser holds of it, and it has no messages of zod's in other languages.
  expect(worker.findIndex((byte) => byte > 127)).toBe(-1);
  expect(worker.length).toBeLessThan(0.8e6);
  const again = await gq('playground', '--to', to);
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('--to')]);
});
