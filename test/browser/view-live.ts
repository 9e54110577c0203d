/** The viewer while runs are trained: what it shows grows without a reload, and training does not notice. */
import type { Browser } from 'playwright-core';
import { check } from './chromium.ts';
import { heldUpdates, trainLive, trainSeeds } from './view-lab.ts';
import { openTab, seenText, shown, waitFor } from './view-tab.ts';

export async function checkLive(browser: Browser, address: string, root: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.goto(`${address}#/`);
  await waitFor(page, /Experiments/);
  const { allow, over } = await trainLive(root, 2);
  const all = heldUpdates;
  check('live: a run that begins appears at home', await waitFor(page, new RegExp(`running\\s+2 of ${all}`)));
  await page.goto(`${address}#/run/live`);
  await waitFor(page, new RegExp(`update 2 of ${all}`));
  await page.waitForSelector('.charts svg');
  check(
    'live: the page says so',
    /^live: 1 running$/.test(await seenText(page, '#live')),
    await seenText(page, '#live'),
  );
  const still = await page.evaluate('document.getAnimations().length');
  check('live: nothing moves while nothing changes', still === 0, `${still} animations`);
  for (const update of [5, 9]) {
    allow(update);
    const isShown = await waitFor(page, new RegExp(`running\\s+update ${update} of ${all}`));
    check(
      `live: update ${update} is shown while it trains, without a reload`,
      isShown,
      (await shown(page)).slice(0, 200),
    );
  }
  allow(all);
  const code = await over;
  check('live: training is not disturbed', code === 0, `${code}`);
  const end = new RegExp(`finished\\s+update ${all} of ${all}`);
  check('live: the end is shown', await waitFor(page, end), (await shown(page)).slice(0, 200));
  const drawing = `document.querySelector('.charts svg').outerHTML`;
  const fresh = await openTab(browser);
  await fresh.page.goto(`${address}#/run/live`);
  await waitFor(fresh.page, end);
  const whole = await fresh.page.evaluate(drawing);
  await fresh.page.close();
  // The page rests after a change, so the last one may come a little later.
  let isWhole = false;
  for (let look = 0; look < 400 && !isWhole; look++) {
    isWhole = whole === (await page.evaluate(drawing));
    if (!isWhole) await page.waitForTimeout(50);
  }
  check('live: charts grow to what a page that is opened afterwards shows', isWhole);
  check('live: no error', errors.length === 0, errors.join('; '));
  await page.close();
}

/** Three seeds of one arm: curves grow seed by seed, and in the end have a band. */
export async function checkLiveExperiment(browser: Browser, address: string, root: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.goto(`${address}#/`);
  const { allow, over } = await trainSeeds(root, 6);
  check('live experiment: it appears at home', await waitFor(page, /Does the band grow\?/));
  await page.goto(`${address}#/experiment/seeds`);
  const isGrowing = await waitFor(page, /running[\s\S]*While training/);
  check('live experiment: its curves are there while it trains', isGrowing, (await shown(page)).slice(0, 400));
  allow(heldUpdates);
  const code = await over;
  check('live experiment: training is not disturbed', code === 0, `${code}`);
  await page.getByText('the numbers of “mean reward, while training”').click();
  const banded = await waitFor(page, /\d ± [\d.]+ \(n = 3\)/);
  check('live experiment: three seeds have a band, without a reload', banded, (await shown(page)).slice(-600));
  check('live experiment: no error', errors.length === 0, errors.join('; '));
  await page.close();
}
