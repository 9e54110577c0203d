/**
 * The playground in headless Chromium, on a static server that sets no header and ends once the page is loaded: it isolates itself, trains the
 * arms of the demo with the bytes of the command line, goes on after a reload, rewinds, and is fit to read in both themes, on a phone and to a
 * screen reader. `node test/browser/playground.ts [updates]`
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { adapterHash } from '../../src/grpo/index.ts';
import { openLab } from '../../src/lab/open.ts';
import { loadAdapter } from '../../src/run/checkpoint.ts';
import { type RunConfig, RunDirectory } from '../../src/run/index.ts';
import { playgroundArms, writePlayground } from '../../src/view/playground.ts';
import { shownPrompts } from '../../src/view/playground-plan.ts';
import { gq } from '../run-gq.ts';
import { check, counts, findChromium, megabytes, pageProcesses } from './chromium.ts';
import { serve } from './static-server.ts';
import { axeFaults, openTab } from './view-tab.ts';

const updates = Number(process.argv[2] ?? 40);
if (!(updates >= 3)) throw new Error(`playground: expected at least 3 updates, found ${process.argv[2]}`);
const mostGzippedBytes = 12e6;
/** In one pass for all rollouts it would be about 600, with a hash that makes garbage 465 (bench/results/playground.md). */
const mostMegabytes = 400;
/** What the command line's own trainer and its sandboxed judge leave: the hash of the adapter after every update. */
async function hashesInNode(config: RunConfig): Promise<readonly string[]> {
  await using lab = await openLab({ config });
  const { trainer, policy } = await lab.trainer;
  const hashes: string[] = [];
  for await (const event of trainer.train()) if (event.kind === 'step') hashes.push(event.adapterHash);
  return [...hashes, await adapterHash(policy)];
}

/** The same of a run that was downloaded. */
async function hashesInRun(path: string): Promise<readonly string[]> {
  const run = RunDirectory.open(path);
  const events = readFileSync(run.ledger('events'), 'utf8').trim().split('\n');
  const hashes = events.map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'step');
  const { config } = run.readManifest();
  await using lab = await openLab({ config });
  const { trainer, policy } = await lab.trainer;
  const { update, ...state } = await trainer.state();
  trainer.restore({ ...state, update, adapter: await loadAdapter(run, config.updates) });
  return [...hashes.map((event) => event.adapterHash), await adapterHash(policy)];
}

/** Waits until both lanes say so. A lane that fails ends the suite with what it says. */
const states = (page: Page, words: string) =>
  page.waitForFunction(`(() => {
    const lines = [...document.querySelectorAll("section [role=status]")].map((line) => line.textContent);
    for (const line of lines) if (line.startsWith('failed')) throw new Error(line);
    return lines.length === 2 && lines.every((line) => ${words}.test(line));
  })()`);
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

/** Downloads the run of each lane by its button, and unpacks it. */
async function downloads(page: Page, folder: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const side of [0, 1]) {
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download as a run' }).nth(side).click();
    const download = await coming;
    const archive = join(folder, `${side}-${download.suggestedFilename()}`);
    await download.saveAs(archive);
    const name = execFileSync('tar', ['tzf', archive], { encoding: 'utf8' }).split('/')[0];
    const into = mkdtempSync(join(folder, 'run-'));
    execFileSync('tar', ['xzf', archive, '-C', into]);
    paths.push(join(into, name));
  }
  return paths;
}

async function compareRun(path: string, name: string, words: string): Promise<void> {
  const { config } = playgroundArms(updates).find((arm) => arm.name === name) ?? playgroundArms(updates)[0];
  const [expected, found] = [await hashesInNode(config), await hashesInRun(path)];
  const first = expected.findIndex((hash, i) => hash !== found[i]);
  const isSame = first < 0 && found.length === updates + 1;
  check(
    `${name}, ${words}: ${updates} updates leave the bytes of the command line`,
    isSame,
    `adapter ${first} differs`,
  );
  const { code, err } = await gq('results', path);
  check(`${name}: gq results opens the run`, code === 0, err);
}

/** Of the first prompt that the base hacks by its heading, the grader says so. */
async function checkHack(page: Page): Promise<void> {
  const heading = page.locator('h3', { hasText: /^As trained and deployed: / });
  const field = page.getByRole('spinbutton', { name: 'Prompt' });
  const usual = await field.inputValue();
  const question = (await page.locator('.own p').first().textContent()) ?? '';
  const isPlain = question.includes('start with n') && !question.includes('remainder');
  check('the prompt that is shown first takes no remainder', isPlain, question);
  let words = '';
  for (let prompt = 1; prompt <= shownPrompts && !words.includes('hack'); prompt++) {
    await field.fill(String(prompt));
    await field.press('Enter');
    words = (await heading.textContent()) ?? '';
  }
  await press(page, 'Take the left answer');
  await press(page, 'Judge it');
  const verdict = page.locator('.verdict b');
  await verdict.waitFor();
  const judged = (await verdict.textContent()) ?? '';
  const isHack = words.endsWith('a hack: wrong, and paid') && judged.includes('Hack: yes');
  check('an answer that the grader pays though it is wrong is headed a hack', isHack, `${words}; ${judged}`);
  await field.fill(usual);
  await field.press('Enter');
}

/** After one update the shares are those of the rollouts that are shown, by their colours and marks. */
async function checkShares(page: Page): Promise<void> {
  const cells = await page
    .locator('.rollouts')
    .nth(1)
    .locator('li:not(.none)')
    .evaluateAll((all) =>
      (all as unknown as { className: string; textContent: string }[]).map(
        ({ className, textContent }) => [className.split(' ')[1], textContent.startsWith('!')] as const,
      ),
    );
  const [attempts, others] = [true, false].map((isAttempt) => cells.filter(([, own]) => own === isAttempt));
  const expected = [attempts, others].flatMap((own) => [
    own.length,
    ...['route', 'absorb', 'keep'].map((route) =>
      Number(((100 * own.filter(([name]) => name === route).length) / own.length).toFixed(0)),
    ),
  ]);
  const words = await page.locator('.shares').allTextContents();
  const isSame = words.length === 1 && words[0].match(/\d+/g)?.join() === expected.join();
  check('the shares of the gradient are those of the rollouts shown', isSame, `${words}; ${expected}`);
}

/** Whether the charts of attempts of both lanes are in sight without scrolling. */
async function checkFirstScreen(page: Page, width: number, height: number): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.evaluate('scrollTo(0, 0)');
  const ends = await page
    .locator('section .attempts')
    .evaluateAll((charts) =>
      charts.map(
        (chart) => (chart as unknown as { getBoundingClientRect(): { bottom: number } }).getBoundingClientRect().bottom,
      ),
    );
  const isSeen = ends.length === 2 && ends.every((end) => end <= height);
  check(`the first screen shows attempts of both lanes, ${width} x ${height}`, isSeen, `they end at ${ends}`);
}

async function checkLooks(page: Page): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    const faults = await axeFaults(page);
    check(`axe finds no fault, ${scheme}`, faults === '', faults);
  }
  await checkFirstScreen(page, 1280, 720);
  await checkFirstScreen(page, 360, 740);
  const wide = await page.evaluate('document.documentElement.scrollWidth');
  check('it fits a phone', Number(wide) <= 360, `${wide} pixels wide`);
  await page.setViewportSize({ width: 1180, height: 900 });
}

/** The page as it is meant to be, without a server from the moment it is loaded. */
async function checkPage(browser: Browser, site: string, folder: string): Promise<void> {
  const { address, close } = await serve(site);
  const { page, errors } = await openTab(browser);
  page.setDefaultTimeout(0);
  await page.goto(address);
  await page.waitForFunction('window.crossOriginIsolated && document.querySelectorAll("section").length === 2');
  check('it isolates itself on a server without headers', true);
  await states(page, '/^paused/');
  close();
  await checkHack(page);
  await press(page, 'One update');
  await states(page, '/^paused. After 1 update /');
  check('one update shows the rollouts of both lanes', (await page.locator('.rollouts li').count()) === 128);
  check('a prompt is answered in both states', (await page.getByText(/^Quarantine deleted: /).count()) === 1);
  const colours = await page
    .locator('.rollouts')
    .first()
    .locator('li')
    .evaluateAll((cells) => cells.map((cell) => (cell as unknown as { className: string }).className));
  const isOnly = colours.every((name) => name === 'cell keep' || name === 'cell none');
  check('without a quarantine every gradient is shown in the deployed block', isOnly, colours.join());
  await checkShares(page);
  await page.getByLabel('Delete the quarantine').check();
  check(
    'the switch shows the other state',
    (await page.locator('.big', { hasText: 'quarantine deleted' }).count()) === 1,
  );
  await page.getByRole('spinbutton', { name: 'Prompt' }).fill('3');
  await page.getByRole('spinbutton', { name: 'Prompt' }).press('Enter');
  await checkLooks(page);
  await page.getByRole('button', { name: 'Train', exact: true }).dblclick();
  await states(page, '/After ([3-9]|\\d\\d) updates/');
  check('a double click trains, and does not pause', true);
  const looked = decodeURIComponent(page.url().split('#')[1]);
  check('the address says what is looked at', looked.endsWith('&prompt=3&deleted=yes'), looked);
  await page.reload();
  await states(page, '/^(training|paused|finished)/');
  const isLooked = await page.getByLabel('Delete the quarantine').isChecked();
  check('and shows it again', isLooked && (await page.getByText(/^Held-out prompt 3,/).count()) === 2);
  check('a reload without network goes on', (await page.getByText('After 0 updates').count()) === 0);
  await states(page, '/^finished/');
  check('and trains to the end without being asked', true);
  const found = page.getByRole('button', { name: 'A prompt that deletion mends' });
  // After few updates there may be none.
  if (await found.isEnabled()) {
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await found.click();
    const top = Number(await page.evaluate('document.querySelectorAll(".answers")[1].getBoundingClientRect().top'));
    check('a prompt that deletion mends is shown with its answers', top >= 0 && top < 900, `they begin at ${top}`);
  }
  const held = Math.max(...pageProcesses().map(megabytes));
  check(
    `the tab holds ${held.toFixed(0)} MB with both lanes trained`,
    held <= mostMegabytes,
    `at most ${mostMegabytes} are expected`,
  );
  const [left, right] = await downloads(page, folder);
  await compareRun(left, 'nothing', 'reloaded');
  await compareRun(right, 'quarantine', 'reloaded');
  await page.getByRole('link', { name: /placebo/ }).click();
  // Until the page has read the link, the lanes of before are there.
  await page.waitForURL(/seed=/);
  // What one lane has trained, the other takes up where it has the same config.
  await states(page, '/^(paused|finished)/');
  const link = decodeURIComponent(page.url().split('#')[1]);
  check('a link names seed and remedies', link === 'seed=1&left=quarantine&right=quarantine,+random&deleted=yes', link);
  await press(page, 'Train');
  await states(page, '/^finished/');
  await page.getByLabel('Rewind to').selectOption({ index: Math.ceil(updates / 10) });
  await states(page, `/^paused. After ${Math.ceil(updates / 10 - 1) * 10} updates/`);
  await press(page, 'Train');
  await states(page, '/^finished/');
  await compareRun((await downloads(page, folder))[1], 'quarantine, random', 'rewound');
  await page.getByLabel('Left').selectOption('penalty, labels');
  await page.getByText(/^paused. After 0 updates/).waitFor();
  const figures = await page.locator('.big').allTextContents();
  const areSame = figures.every((words) => words.includes('after 0 updates'));
  check('lanes are compared at the same update', areSame, figures.join('; '));
  await press(page, 'One update');
  await states(page, `/^(paused. After 1 update |finished)/`);
  await page.getByLabel(/^recall/).fill('0.6');
  await page.getByText('1 update of the settings before').waitFor();
  check('a slider says that its lane starts again', true);
  await states(page, '/^(paused|finished)/');
  const slid = decodeURIComponent(page.url().split('#')[1]);
  check('a slider is in the link', slid.includes('left=penalty,+labels&left.recall=0.6'), slid);
  check(
    'the other lane keeps what it has trained',
    (await page.getByText(`finished. After ${updates} updates`).count()) === 1,
  );
  check('the browser complains of nothing', errors.length === 0, errors.join('; '));
  await page.close();
}

/** A browser that blocks service workers cannot isolate the page. */
async function checkAlone(browser: Browser, site: string): Promise<void> {
  const { address, close } = await serve(site);
  const context = await browser.newContext({ serviceWorkers: 'block' });
  const page = await context.newPage();
  page.setDefaultTimeout(0);
  await page.goto(address);
  await states(page, '/^paused/');
  const isolated = await page.evaluate('crossOriginIsolated');
  const why = await page.getByText('One thread a lane').count();
  const helps = await page.getByText('helps').count();
  check('without isolation it says why it has one thread, and what helps', !isolated && why === 1 && helps === 1);
  await press(page, 'One update');
  await states(page, '/^paused. After 1 update /');
  check('and trains all the same', true);
  await context.close();
  close();
}

const launch = findChromium();
const folder = mkdtempSync(join(tmpdir(), 'playground-suite-'));
const site = join(folder, 'site');
const { gzippedBytes } = await writePlayground(site, updates);
check('all of it is at most 12 MB gzipped', gzippedBytes <= mostGzippedBytes, `${gzippedBytes} bytes`);
const browser = await launch();

try {
  await checkAlone(browser, site);
  await checkPage(browser, site, folder);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`playground: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
