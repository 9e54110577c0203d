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
