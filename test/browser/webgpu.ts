/**
 * The webgpu device on the WebGPU of headless Chromium, which computes on the processor (SwiftShader): the sections of test/webgpu in a page,
 * from a bundle for browsers, and two updates of the trainer beside wasm in Node. A Chromium without WebGPU fails, and is told by name.
 *   node test/browser/webgpu.ts [--only ops,kernels,sampling,generation,parity,training] [--all]
 */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { resolveBuiltin } from '../../src/lab/index.ts';
import { browserMap } from '../../src/view/build-page.ts';
import { compareSteps, trainMicro } from '../cuda/micro-run.ts';
import { smallRun } from '../webgpu/small-run.ts';
import { check, counts, findChromium } from './chromium.ts';
import { serve } from './static-server.ts';
import type * as Suite from './webgpu-page.ts';

const flags = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];
const inPage = ['kernels', 'ops', 'sampling', 'generation', 'parity'];
const { values: options } = parseArgs({ options: { only: { type: 'string' }, all: { type: 'boolean' } } });
const asked = options.only?.split(',') ?? [...inPage, 'training'];
const unknown = asked.filter((name) => name !== 'training' && !inPage.includes(name));
if (unknown.length > 0)
  throw new Error(`webgpu: --only knows ${[...inPage, 'training'].join(', ')}, not ${unknown.join(', ')}`);

const root = fileURLToPath(new URL('../..', import.meta.url));
const updates = 2;
const { settings: small, model } = await smallRun();
/** Features are for tools that a page lacks. */
const settings = [`updates=${updates}`, 'output.storeFeatures=false', ...small];

interface Site {
  readonly golden: readonly string[];
  readonly model: readonly string[];
}

/** A folder with the bundle and the files that it fetches. */
async function write(folder: string): Promise<Site> {
  await build({
    entryPoints: [join(root, 'test/browser/webgpu-page.ts')],
    ...{ bundle: true, format: 'esm', platform: 'browser', target: 'es2022', outfile: join(folder, 'suite.js') },
    plugins: [browserMap()],
  });
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>suite</title><link rel="icon" href="data:,">');
  copyFileSync(join(root, 'data/pairs/micro.md'), join(folder, 'micro.md'));
  const copy = (from: string, to: string): string[] => {
    mkdirSync(join(folder, to), { recursive: true });
    const names = readdirSync(from);
    for (const name of names) copyFileSync(join(from, name), join(folder, to, name));
    return names;
  };
  const golden = ['llama', 'qwen2', 'qwen3', 'qwen3-bf16'].flatMap((name) =>
    copy(join(root, 'test/golden', name), `golden/${name}`).map((file) => `golden/${name}/${file}`),
  );
  return { golden, model: copy(model, 'model') };
}

async function openPage(browser: Browser, address: string): Promise<Page> {
  const page = await browser.newPage();
  page.on('pageerror', (error) => console.error(`page: ${error.message}`));
  page.on('console', (message) => console.log(message.text()));
  await page.goto(address);
  return page;
}

/** Calls a function of webgpu-page.ts in the page. */
function call<Name extends keyof typeof Suite>(
  page: Page,
  name: Name,
  ...given: Parameters<(typeof Suite)[Name]>
): ReturnType<(typeof Suite)[Name]>;
function call(page: Page, name: string, ...given: readonly unknown[]): Promise<unknown> {
  return page.evaluate(`import('/suite.js').then((suite) => suite.${name}(...${JSON.stringify(given)}))`);
}

async function compareTraining(page: Page, site: Site): Promise<void> {
  const { config } = resolveBuiltin('recipes/micro-activation.toml', settings);
  const onGpu = { ...config, device: { ...config.device, kind: 'webgpu' as const } };
  const { device, steps } = await call(page, 'train', onGpu, site.model);
  check('training: the page trains on webgpu', device === 'webgpu', device);
  const found = steps.map((step) => ({ ...step, numbers: Float32Array.from(step.numbers) }));
  const expected = await trainMicro('micro-activation', [...settings, 'device.kind=wasm']);
  for (const { quantity, maxRel, pass } of compareSteps(found, expected, updates))
    check(`training: ${quantity}`, pass, `off by ${maxRel}`);
}

const folder = mkdtempSync(join(tmpdir(), 'webgpu-suite-'));
const launch = findChromium(flags);
const launchWithout = findChromium();
try {
  const site = await write(folder);
  const { address, close } = await serve(folder);
  await using browser = await launch();
  try {
    const page = await openPage(browser, address);
    const report = await call(page, 'inspect');
    const found = 'missing' in report ? `${report.missing}. ${report.fix}` : report.adapter;
    check(`Chromium ${browser.version()} has WebGPU`, 'adapter' in report, `WebGPU is NOT tested: ${found}`);
    if ('adapter' in report) {
      console.log(`webgpu: ${found}`);
      const sections = asked.filter((name) => name !== 'training');
      const { passed, failed } = await call(page, 'runSections', sections, site.golden, options.all === true);
      counts.passed += passed;
      counts.failed += failed;
      if (asked.includes('training')) await compareTraining(page, site);
      const planted = (await call(page, 'plantedFailures')).join(', ');
      check(
        'an error in the WGSL of swiglu turns its case red',
        planted === 'swiglu and its gradient, in place',
        planted,
      );
    }
    await using bare = await launchWithout();
    const without = await call(await openPage(bare, address), 'inspect');
    const said = JSON.stringify(without);
    check(
      'a Chromium that was not told to is told the flags',
      flags.every((flag) => said.includes(flag)),
      said,
    );
  } finally {
    close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`webgpu: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
