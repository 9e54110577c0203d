/**
 * What can go wrong with the playground in a browser: links that mean nothing, kept updates that are damaged, no room, two tabs, a worker
 * that fails, a tab that sleeps, changes faster than lanes open. It goes on, or says what happened. `node test/browser/playground-faults.ts`
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { playgroundPlan, writePlayground } from '../../src/view/playground.ts';
import { check, counts, findChromium } from './chromium.ts';
import {
  checkBar,
  checkLinkWhileTraining,
  checkLoadWhileOpening,
  checkLostByReload,
  checkPauseThenChange,
  checkRewind,
  laneLines,
  press,
  states,
} from './playground-changes.ts';
import { serve } from './static-server.ts';

const alertText = async (page: Page): Promise<string> =>
  (await page.locator('[role=alert]').allTextContents()).join(' ');
const factsText = async (page: Page): Promise<string> => (await page.locator('.facts').allTextContents()).join(' ');

async function newPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(0);
  return page;
}

async function open(context: BrowserContext, address: string): Promise<Page> {
  const page = await newPage(context);
  await page.goto(address);
  await page.waitForFunction('window.crossOriginIsolated && document.querySelectorAll("section").length === 2');
  await states(page, '/^(paused|finished)/');
  return page;
}

async function checkLinks(page: Page, address: string): Promise<void> {
  await page.goto(`${address}/?seed=&left=none+such`);
  await page.waitForFunction('document.querySelectorAll("section").length === 2');
  const words = await alertText(page);
  const isTold = /seed is “” .* “1” is used\..*left is “none such” .* “nothing” is used\./.test(words);
  check('a link with an empty seed and an unknown remedy says what is used instead', isTold, words);
  check('the address says what is used', page.url() === `${address}/#seed=1&left=nothing&right=quarantine`, page.url());
  await states(page, '/^paused/');
}

/** Three seeds within one moment; lanes of the first two must not go on unseen. */
async function checkHaste(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const field = document.querySelector('input[min="0"][type=number]');
    for (const seed of ['5', '6', '1']) {
      field.value = seed;
      field.dispatchEvent(new Event('change', { bubbles: true }));
    }
  })()`);
  await page.waitForTimeout(1000);
  await states(page, '/^paused/');
  const lanes = page.workers().filter((worker) => worker.url().endsWith('lane.js')).length;
  check('changes in haste leave two lanes, and both open', lanes === 2, `${lanes} workers`);
}

/** A lane that is still opened when Train is pressed trains once it is open. */
async function checkTrainWhileOpening(page: Page, address: string): Promise<void> {
  await page.goto(`${address}/#left=quarantine%2C+labels&right=quarantine%2C+labels`);
  await page.waitForURL(/seed=/);
  await states(page, '/^paused/');
  const wished = await page.evaluate(`new Promise((resolve) => {
    const right = () => document.querySelectorAll('section [role=status]')[1].textContent;
    const slider = document.querySelectorAll('section')[1].querySelector('input[type=range]');
    slider.value = '0.3';
    slider.dispatchEvent(new Event('change', { bubbles: true }));
    const look = () => {
      if (!right().startsWith('opening')) return setTimeout(look);
      document.querySelector('.most button').click();
      setTimeout(() => resolve(right()), 50);
    };
    look();
  })`);
  check('a lane that is still opened says that it will train', /trains as soon as/.test(`${wished}`), `${wished}`);
  const trained = await page
    .waitForFunction(`${laneLines}.every((line) => /After [1-9]/.test(line))`, null, { timeout: 60_000 })
    .catch(() => null);
  check(
    'and trains once it is open',
    trained !== null,
    (await page.locator('section [role=status]').allTextContents()).join(' '),
  );
  const titles = await page.locator('section h2 small').allTextContents();
  check('lanes that differ by a slider alone say so', titles.join() === 'recall 1,recall 0.3', titles.join());
  await press(page, 'Pause');
  await states(page, '/^paused/');
}

/** Lanes that change places lose nothing, and a notice names what other remedies do lose; a link of the page shows the lanes. */
async function checkLosses(page: Page, address: string): Promise<void> {
  const made = await updatesMade(page);
  const [, left, right] = /(left=.*)&(right=.*)/.exec(page.url()) ?? [];
  const swapped = `${right.replaceAll('right', 'left')}&${left.replaceAll('left', 'right')}`;
  await page.goto(`${address}/#${swapped}`);
  await page.waitForURL(/seed=/);
  await states(page, '/^paused/');
  const moved = (await updatesMade(page)).join();
  check('lanes that change places go on', moved === made.toReversed().join(), `${moved} of ${made}`);
  check('and nothing is said to be lost', (await page.locator('section .notice').count()) === 0);
  const link = page.getByRole('link', { name: 'What does deleting the quarantine take away?' });
  await link.scrollIntoViewIfNeeded();
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await link.evaluate((element) => (element as unknown as { click(): void }).click());
  const top = Number(await page.evaluate('document.querySelector(".heads").getBoundingClientRect().top'));
  check('a link to begin with shows the lanes', top >= 0 && top < 200, `they begin at ${top}`);
  await states(page, '/^paused. After 0 updates/');
  check('and deletes the quarantine', await page.getByLabel('Delete the quarantine').isChecked());
  const lost = await page.locator('section .notice').allTextContents();
  const areNamed = lost.length === 2 && lost.every((words, i) => words.includes(`: ${made.toReversed()[i]} update`));
  check('what is lost is named', areNamed, `${lost} of ${made}`);
  await page.getByLabel('Delete the quarantine').uncheck();
}

/** What a reader asks while it trains, or of a link: how long, from where to where, and what the marks mean. */
async function checkWords(context: BrowserContext, page: Page, address: string): Promise<void> {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: address });
  await page.goto(`${address}/#seed=8`);
  await page.waitForURL(/left=/);
  await states(page, '/^paused. After 0 updates/');
  const [rewind, most] = [page.getByLabel('Rewind to'), page.locator('.most')];
  const [empty, unknown] = [await rewind.textContent(), await most.textContent()];
  check(
    'before the first update there is nothing to rewind to, and no time is known',
    empty === 'no update yet' && !unknown?.includes('about'),
    `${empty}; ${unknown}`,
  );
  await checkBar(page);
  await press(page, 'One update');
  await states(page, '/^paused. After 1 update /');
  const told = (await most.textContent()) ?? '';
  check('after one it says how long the others take', /about \d+ (seconds|minutes) to update 100$/.test(told), told);
  check('and what rewinding does', (await page.getByText('those after it are forgotten').count()) === 1);
  const legend = (await page.locator('.legend').textContent()) ?? '';
  const missing = [
    'deployed block',
    'both blocks',
    'quarantine',
    'no gradient',
    '!',
    '✓',
    '·',
    'solid',
    'dashed',
    'faint',
    'dotted',
  ].filter((mark) => !legend.includes(mark));
  check('the legend has every mark', missing.length === 0, missing.join());
  await press(page, 'Copy the link');
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  await page.getByRole('button', { name: 'Copy the link' }).waitFor({ timeout: 30_000 });
  const copied = String(await page.evaluate('navigator.clipboard.readText()'));
  check(
    'a copied link says how far both lanes are',
    copied === `${address}/#seed=8&left=nothing&right=quarantine&at=1`,
    copied,
  );
  await page.goto(`${address}/#seed=9&at=2`);
  const offer = page.getByRole('button', { name: 'Train to update 2' });
  await offer.waitFor();
  await states(page, '/^paused. After 0 updates/');
  check('its reader is told how to see what it shows', page.url().endsWith('&at=2'), page.url());
  await offer.click();
  await states(page, '/^paused. After 2 updates/');
  check('and trains both lanes to there', (await offer.count()) === 0 && !page.url().includes('at='), page.url());
  await page.goto(`${address}/#seed=9&at=5`);
  await page.getByRole('button', { name: 'Train to update 5' }).waitFor();
  const goal = (await most.textContent()) ?? '';
  check('and how long that takes, not to the end', / to update 5$/.test(goal), goal);
  await page.getByLabel('Left').selectOption('penalty');
  await page.getByText('paused. After 0 updates').waitFor();
  const ahead = page.locator('section').nth(1);
  const said = [
    await ahead.locator('.big small').textContent(),
    await ahead.locator('.now').textContent(),
    await ahead.locator('[role=status]').textContent(),
  ].map((words) => words ?? '');
  const isOne =
    said[0].includes('after 0 updates, as many as the other lane (here 2)') &&
    said[1].startsWith('after 0') &&
    said[2].startsWith('paused. After 2 updates; after 0,');
  check('figures and text of a lane that is ahead are of one update', isOne, said.join('; '));
  await press(page, 'Start again');
  await states(page, '/^paused. After 0 updates/');
}

/** Side by side on a phone the menus are narrower than their words. */
async function checkMenus(page: Page): Promise<void> {
  await page.setViewportSize({ width: 360, height: 740 });
  const chosen = await page.locator('section .chosen:visible').allTextContents();
  const menus = await page
    .locator('section select')
    .evaluateAll((lists) =>
      (lists as unknown as { selectedOptions: readonly { text: string }[] }[]).map(
        (list) => list.selectedOptions[0].text,
      ),
    );
  const areRead = chosen.length === 2 && menus.every((option, i) => option.endsWith(`, ${chosen[i]}`));
  check('on a phone what each menu has chosen stands below it', areRead, `${chosen}; ${menus}`);
  await page.setViewportSize({ width: 1180, height: 900 });
}

/** A number that a field cannot take leaves what was there, and is told of at the field. */
async function checkFields(page: Page): Promise<void> {
  for (const [name, text] of [
    ['Seed', '-3.5'],
    ['Prompt', '99'],
  ]) {
    const field = page.getByRole('spinbutton', { name });
    const before = await field.inputValue();
    await field.fill(text);
    await field.press('Enter');
    const told = await page.getByText(`“${text}” was not taken`).count();
    check(`${name} ${text} is told of, and is not taken`, told === 1 && (await field.inputValue()) === before);
  }
}

/** Writes over, or removes, something of every lane that is kept. */
const damage = (page: Page, code: string) =>
  page.evaluate(`new Promise((resolve, reject) => {
    const opening = indexedDB.open('playground', 1);
    opening.onerror = reject;
    opening.onsuccess = () => {
      const transaction = opening.result.transaction(['updates', 'states'], 'readwrite');
      const [updates, states] = ['updates', 'states'].map((name) => transaction.objectStore(name));
      const all = states.getAllKeys();
      all.onsuccess = () => { for (const key of all.result) ${code}; };
      transaction.oncomplete = () => { opening.result.close(); resolve(); };
      transaction.onabort = reject;
    };
  })`);

async function checkDamage(page: Page): Promise<void> {
  const damages = [
    ['a kept state that is none', "states.put({ update: 1, adapter: new Map([['x', 'y']]) }, key)"],
    ['a kept update that is gone', 'updates.delete(key)'],
    ['a kept update that is none', "updates.put('x', key)"],
  ] as const;
  for (const [name, code] of damages) {
    await press(page, 'One update');
    await states(page, '/^paused. After 1 update /');
    await damage(page, code);
    await page.reload();
    await states(page, '/^paused. After 0 updates/');
    const words = await factsText(page);
    check(`${name}: the lane says so and begins anew`, words.split('could not be read').length === 3, words);
  }
}

async function checkFailedWorker(page: Page): Promise<void> {
  await press(page, 'One update');
  await states(page, '/^paused. After 1 update /');
  const [lane] = page.workers().filter((worker) => worker.url().endsWith('lane.js'));
  await lane.evaluate("setTimeout(() => { throw new Error('out of luck'); })");
  await page.getByText(/^failed\..*out of luck/).waitFor();
  check('a worker that fails says why', true);
  await press(page, 'Open this lane again');
  await states(page, '/^paused. After 1 update /');
  check('and is opened again where it was', true);
}

async function checkTwoTabs(context: BrowserContext, page: Page, address: string): Promise<void> {
  const other = await open(context, `${address}/#seed=2`);
  const words = await alertText(other);
  check('a second tab says that it keeps nothing', words.includes('Another tab has this page open'), words);
  await press(other, 'One update');
  await states(other, '/^paused. After 1 update /');
  await checkLostByReload(other);
  await other.close();
  await page.reload();
  await states(page, '/^paused. After 1 update /');
  check('the first one has kept its own', (await alertText(page)) === '', await alertText(page));
}

/** A reload with Shift goes past the service worker, so the page is not isolated by it: another one mends that, as the page says. */
async function checkForcedReload(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Page.reload', { ignoreCache: true });
  await page.getByText('One thread a lane: the service worker').waitFor();
  check('a reload with Shift says why there is one thread', (await page.evaluate('crossOriginIsolated')) === false);
  await page.reload();
  await page.waitForFunction('window.crossOriginIsolated && document.querySelectorAll("section").length === 2');
  await states(page, '/^(paused|finished)/');
  check('and another reload isolates the page, as it says', true);
}

async function checkSleep(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await press(page, 'Train');
  await devtools.send('Page.setWebLifecycleState', { state: 'frozen' });
  await new Promise((resolve) => setTimeout(resolve, 5000));
  await devtools.send('Page.setWebLifecycleState', { state: 'active' });
  await states(page, '/After ([3-9]|\\d\\d) updates/');
  check('a tab that slept trains on', true);
  await press(page, 'Pause');
  await states(page, '/^paused/');
}

/** The updates that each lane has made. */
const updatesMade = async (page: Page): Promise<readonly number[]> =>
  (await page.locator('section [role=status]').allTextContents()).map((line) => Number(/After (\d+)/.exec(line)?.[1]));

async function checkNoRoom(page: Page, address: string): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  const made = await updatesMade(page);
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: address, quotaSize: 1 });
  // For half a minute Chromium goes by the room that it found before.
  await new Promise((resolve) => setTimeout(resolve, 31_000));
  await press(page, 'One update');
  await states(page, `new RegExp('^paused. After (${made.map((count) => count + 1).join('|')}) updates')`);
  const words = await factsText(page);
  check('without room it trains, and says what is kept no more', words.includes('the browser keeps no more'), words);
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: address });
  await page.reload();
  await states(page, '/^paused. After [1-9]/');
  const kept = await updatesMade(page);
  check('a reload goes on from what was kept', kept.join() === made.join(), `${kept} and not ${made}`);
}

/** A browser that lets the page store nothing at all, and a folder without its plan. */
async function checkBare(browser: Browser, address: string): Promise<void> {
  const context = await browser.newContext();
  const page = await newPage(context);
  await page.addInitScript(`for (const name of ['sessionStorage', 'indexedDB'])
    Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError'); } });`);
  await page.goto(address);
  await states(page, '/^paused/');
  check('a browser that stores nothing opens the page', (await page.getByText('One thread a lane').count()) === 1);
  await page.route('**/plan.json', (route) => route.fulfill({ status: 404, body: 'gone' }));
  await page.reload();
  await page.getByText(/^The page could not be opened: /).waitFor();
  check('a file that is missing is told of', true);
  await context.close();
}

const launch = findChromium();
const folder = mkdtempSync(join(tmpdir(), 'playground-faults-'));
const site = join(folder, 'site');
await writePlayground(site, 100);
// Little work: nothing here depends on what is learned.
const { arms, ...plan } = playgroundPlan(100, 6.4e6);
const small = arms.map(({ config, ...arm }) => {
  const sampling = { ...config.sampling, promptsPerStep: 2, group: 4, maxNewTokens: 8 };
  return { ...arm, config: { ...config, sampling } };
});
writeFileSync(join(site, 'plan.json'), JSON.stringify({ ...plan, arms: small }));
const { address, close } = await serve(site);
const browser = await launch();
try {
  const context = await browser.newContext();
  const page = await open(context, address);
  await checkLinks(page, address);
  await checkMenus(page);
  await checkHaste(page);
  await checkFields(page);
  await checkTrainWhileOpening(page, address);
  await checkLosses(page, address);
  await checkPauseThenChange(page);
  await checkLoadWhileOpening(page);
  await checkLinkWhileTraining(page, address);
  await checkWords(context, page, address);
  await checkRewind(page, address);
  await checkDamage(page);
  await checkFailedWorker(page);
  await checkTwoTabs(context, page, address);
  await checkForcedReload(page);
  await checkSleep(page);
  await checkNoRoom(page, address);
  await checkBare(browser, address);
} finally {
  await browser.close();
  close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`playground-faults: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
