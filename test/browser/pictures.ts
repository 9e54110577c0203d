/**
 * Draws the pictures of docs/viewer.md: every screen, light and dark, and some as on a phone. Usage: node test/browser/pictures.ts EXPERIMENT ARM SEED, where EXPERIMENT is a folder of its own
 * that `gq experiment` filled and that may be written into: three labels and a note are given first. Exits 2 when there is no Chromium.
 */
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { openPage, startView } from '../../src/view/index.ts';
import { findChromium } from './chromium.ts';
import { openTab, waitFor } from './view-tab.ts';

const [folder, arm, seed] = process.argv.slice(2);
if (folder === undefined || arm === undefined || seed === undefined) {
  console.error('usage: node test/browser/pictures.ts EXPERIMENT ARM SEED');
  process.exit(1);
}
const name = resolve(folder).split('/').at(-1) ?? '';
const run = encodeURIComponent(`${name}/${arm}-${seed}`);
const baseline = encodeURIComponent(`${name}/vanilla-${seed}`);

/** The address of each picture, a text that must be there first, and what the heading that it begins at says. */
const pictures: Readonly<Record<string, readonly [hash: string, text: RegExp, from?: string]>> = {
  home: ['#/?', /Experiments/],
  experiment: [`#/experiment/${name}`, /While training/],
  curves: [`#/experiment/${name}`, /While training/, 'While training'],
  run: [`#/run/${run}`, /Evaluations/],
  gate: [`#/gate/${run}?cuts=shares&keep=0.2&route=0.2`, /with these cuts/],
  'what-if': [`#/gate/${run}?cuts=shares&keep=0.2&route=0.2`, /with these cuts/, 'What if the cuts were others?'],
  flow: [`#/gate/${run}`, /Where rollouts went/, 'Where rollouts went'],
  attribution: [`#/gate/${run}`, /whose gradient the deployed block/, 'Tables'],
  answers: [`#/answers/${run}?change=attempt+removed`, /as trained: [\s\S]*deployed: /],
  rollouts: [`#/rollouts/${run}?order=surprise`, /\d+ of \d+ rollouts/],
  rollout: [`#/rollout/${run}?rollout=2-0-1`, /The group/],
  label: [`#/label/${name}`, /Completion/],
  labels: [`#/labels/${name}`, /people against the oracle/],
  compare: [`#/compare/${baseline}?with=${run}`, /outcomes: rows/, 'test-original, deployed'],
};

async function write(page: Page, address: string): Promise<void> {
  await page.goto(`${address}#/label/${name}`);
  await waitFor(page, /Completion/);
  await page.getByLabel('signed').fill('reader');
  await page.locator('h1').click();
  for (const [i, key] of ['c', 'c', 'c', 'c', 'h', 'u'].entries()) {
    await page.keyboard.press(key);
    await waitFor(page, new RegExp(`${i + 2} of \\d+ in a shuffled`));
  }
  await page.goto(`${address}#/experiment/${name}`);
  await waitFor(page, /While training/);
  await page.keyboard.press('n');
  await page
    .getByLabel('a note on this view')
    .fill('The random placebo removed most of it too: one seed, so no claim.');
  await page.getByRole('button', { name: 'pin', exact: true }).click();
  await page.locator('aside').waitFor({ state: 'detached' });
}

const browser = await findChromium()();
await using view = await startView(folder, await openPage(), { host: '127.0.0.1', port: 0 });
const writing = await openTab(browser);
await write(writing.page, view.address);
await writing.page.close();
const looks = {
  light: { width: 1000, height: 640 },
  dark: { width: 1000, height: 640 },
  phone: { width: 390, height: 780 },
};
const onPhone = ['home', 'experiment', 'answers', 'rollouts'];
for (const [look, size] of Object.entries(looks)) {
  const { page } = await openTab(browser, look === 'dark' ? 'dark' : 'light');
  await page.setViewportSize(size);
  for (const [picture, [hash, text, from]] of Object.entries(pictures)) {
    if (look === 'phone' && !onPhone.includes(picture)) continue;
    await page.goto('about:blank');
    await page.goto(`${view.address}${hash}`);
    if (!(await waitFor(page, text))) console.error(`${picture}: the text ${text} never came`);
    if (from !== undefined) await page.getByRole('heading', { name: from }).first().evaluate(scrollThere);
    await page.waitForTimeout(300);
    await page.screenshot({ path: join('docs/figures/view', `${picture}-${look}.png`) });
  }
  await page.close();
}
await browser.close();

/** Below the bar, which stays. */
function scrollThere(element: { getBoundingClientRect(): { top: number } }): void {
  const page = globalThis as unknown as { scrollBy(x: number, y: number): void };
  page.scrollBy(0, element.getBoundingClientRect().top - 90);
}
