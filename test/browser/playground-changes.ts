/** Settings of the playground that are changed while something else is under way: a pause, or Python that loads. Part of playground-faults.ts. */
import type { Page } from 'playwright-core';
import { check } from './chromium.ts';

export const laneLines = '[...document.querySelectorAll("section [role=status]")].map((line) => line.textContent)';
/** Waits until both lanes say so. */
export const states = (page: Page, words: string) =>
  page.waitForFunction(`(${laneLines}.length === 2 && ${laneLines}.every((line) => ${words}.test(line)))`);
export const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first().click();

/** A pause is asked of both lanes, also where one finishes its update when a setting of both is changed. */
export async function checkPauseThenChange(page: Page): Promise<void> {
  await press(page, 'Train');
  await states(page, '/^training. After [1-9]/');
  await page.evaluate(`(() => {
    document.querySelector('.most button').click();
    const slider = document.querySelector('main > .controls .slider input');
    slider.value = '0.25';
    slider.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);
  await page.waitForURL(/unhackableFraction=0.25/);
  await states(page, '/^(paused|training). After/');
  const found = (await page.locator('section [role=status]').allTextContents()).map((line) => line.slice(0, 24));
  check(
    'lanes that were asked to pause stay so when a setting of both is changed',
    found.every((line) => line.startsWith('paused. After 0 updates')),
    found.join(),
  );
}

/** Holds back what lanes that are opened from now on say, until they are let go on. */
const holdLanes = (page: Page) =>
  page.evaluate(`(() => {
    const Real = window.Worker;
    window.heldLanes = [];
    window.Worker = class extends Real {
      constructor(url, options) { super(url, options); this.isLane = url === 'lane.js'; }
      set onmessage(hear) {
        super.onmessage = (event) => (this.isLane && window.heldLanes ? window.heldLanes.push(() => hear(event)) : hear(event));
      }
    };
  })()`);
const letLanesGoOn = (page: Page) =>
  page.evaluate(
    '(() => { const held = window.heldLanes; window.heldLanes = null; for (const hear of held) hear(); })()',
  );

/** Python that is loaded while lanes are opened judges once they are. */
export async function checkLoadWhileOpening(page: Page): Promise<void> {
  await page
    .getByLabel('Program')
    .fill('class Solution:\n    def solve(self, n):\n        while True:\n            n += 1');
  await press(page, 'Judge it');
  const load = page.getByRole('button', { name: /^Load Python/ });
  await load.waitFor({ timeout: 20_000 });
  await holdLanes(page);
  await load.click();
  await page.locator('main > .controls .slider input').first().fill('0');
  await states(page, '/^opening/');
  const told = await page
    .getByText('judged once the left lane is open')
    .waitFor({ timeout: 60_000 })
    .catch(() => null);
  check('Python goes on loading while lanes are opened again', told !== null && (await load.count()) === 0);
  await letLanesGoOn(page);
  const verdict = page.locator('.verdict', { hasText: 'Judged by Python' });
  await verdict.waitFor({ timeout: 60_000 }).catch(() => null);
  const words = (await page.locator('.verdict').textContent()) ?? '';
  check('and judges once they are open', words.includes('Judged by Python'), words);
  check('of a program without end it says the limit', words.includes('ended after the time limit of 10 s'), words);
  await page.getByRole('spinbutton', { name: 'Prompt' }).fill('2');
  await page.getByRole('spinbutton', { name: 'Prompt' }).press('Enter');
  const other = (await page.locator('.verdict').textContent()) ?? '';
  check(
    'at another prompt it says that the program was for one before',
    /^This program was written for/.test(other),
    other,
  );
  await page.getByRole('spinbutton', { name: 'Prompt' }).fill('1');
  await page.getByRole('spinbutton', { name: 'Prompt' }).press('Enter');
}

/** A link that says how far it was copied trains nothing by itself, also in a tab that was training; its button can always be pressed. */
export async function checkLinkWhileTraining(page: Page, address: string): Promise<void> {
  const link = `${address}/#seed=1&left=nothing&right=penalty&at=90`;
  await page.goto(`${address}/#seed=1&left=nothing&right=penalty`);
  for (const load of ['a link that is loaded', 'a link within the page'] as const) {
    await page.waitForURL(/right=penalty$/);
    await states(page, '/^paused/');
    await press(page, 'Train');
    await states(page, '/^training. After [1-9]/');
    if (load === 'a link that is loaded') await page.goto('about:blank');
    await page.goto(link);
    const offer = page.getByRole('button', { name: 'Train to update 90' });
    await offer.waitFor();
    // A lane that is asked to pause finishes its update.
    const still = `${laneLines}.every((line) => line.startsWith('paused. After'))`;
    await page.waitForFunction(still, null, { timeout: 60_000 }).catch(() => null);
    await page.waitForTimeout(1000);
    check(`${load} with its updates trains nothing by itself`, (await page.evaluate(still)) === true);
    await press(page, 'Train');
    check('and its button can be pressed while lanes train', await offer.isEnabled());
    await press(page, 'Pause');
    await states(page, '/^paused/');
    await page.goto(`${address}/#seed=1&left=nothing&right=penalty`);
  }
}

/** In a tab that keeps nothing a reload does not begin anew unseen: it says how many updates are gone. */
export async function checkLostByReload(page: Page): Promise<void> {
  await press(page, 'Train');
  await states(page, '/^training. After ([2-9]|\\d\\d)/');
  await page.reload();
  const notice = page.locator('section .notice', { hasText: /^The page was loaded again: \d+ updates of this lane/ });
  const isTold = await notice
    .nth(1)
    .waitFor({ timeout: 60_000 })
    .then(
      () => true,
      () => false,
    );
  check('a reload says how many updates are gone', isTold);
  const found = (await page.locator('section [role=status]').allTextContents()).map((line) => line.slice(0, 24));
  check(
    'and does not train them again by itself',
    found.every((line) => line.startsWith('paused. After 0')),
    `${found}`,
  );
}

/** The menu is disabled, which Chromium shows by opacity: it would lie above what stands before it. */
export async function checkBar(page: Page): Promise<void> {
  const found = await page.evaluate(`(() => {
    const [bar, menu] = [document.querySelector('.most'), document.querySelector('main > .controls select')];
    scrollTo(0, 1e5);
    scrollBy(0, menu.getBoundingClientRect().bottom - bar.getBoundingClientRect().bottom);
    const { x, y, width, height } = menu.getBoundingClientRect();
    const seen = document.elementFromPoint(x + width / 2, y + height / 2);
    return menu.disabled ? (seen?.closest('.most') === bar ? '' : String(seen?.outerHTML.slice(0, 40))) : 'not disabled';
  })()`);
  check('a menu that is scrolled under the bar at the top does not show through it', found === '', String(found));
}

/** A lane that was begun later has not kept what the other one has. */
export async function checkRewind(page: Page, address: string): Promise<void> {
  await page.goto(`${address}/#seed=10&at=11`);
  await press(page, 'Train to update 11');
  await states(page, '/^paused. After 11 updates/');
  const offered = async () => (await page.getByLabel('Rewind to').locator('option').allTextContents()).join();
  const before = await offered();
  await page.getByLabel('Left').selectOption('penalty');
  await page.getByText('paused. After 0 updates').waitFor();
  const after = await offered();
  const isRight = before === 'an update…,update 0,update 10' && after === 'an update…,update 0';
  check('rewinding offers what both lanes have kept', isRight, `${before}; ${after}`);
  await press(page, 'Start again');
  await states(page, '/^paused. After 0 updates/');
}
