/**
 * The site in headless Chromium, opened from its folder: every page fits a phone and makes the browser complain of nothing; one of each kind is fit
 * to read in both themes, on a phone and on a desk, also to a screen reader. `npm run site` first. Usage: node test/browser/site.ts [FOLDER]
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { check, counts, findChromium } from './chromium.ts';
import { axeFaults, openTab, phoneFaults, seenText } from './view-tab.ts';

const folder = process.argv[2] ?? fileURLToPath(new URL('../../.build/site', import.meta.url));
const address = (path: string): string => pathToFileURL(join(folder, path)).href;
const apps = /^(?:demo|playground)\//;
const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.html') && !apps.test(path))
  .sort();
const phone = { width: 360, height: 740 };
const desk = { width: 1440, height: 900 };

/** One page of each kind, by how its path begins. */
const kinds = [
  ...[
    'index.html',
    'docs/guide/first-hour.html',
    'docs/results.html',
    'docs/results/',
    'docs/commands/',
    'docs/config.html',
  ],
  ...['api/index.html', 'api/main.html', 'docs/viewer.html', 'recipes/index.html', 'recipes/micro-base.toml.html'],
  ...['bench/results/index.html', 'playground.html'],
].map((start) => pages.find((path) => path.startsWith(start)) ?? start);

/** What is wider than the screen, or nothing. */
async function tooWide(page: Page, width: number): Promise<string> {
  const found = Number(await page.evaluate('document.documentElement.scrollWidth'));
  return found > width ? `${found} pixels wide` : '';
}

/** What axe finds. It asks for the style sheet by itself, which a folder refuses: that complaint is not of the page. */
async function faultsIn(page: Page, errors: string[]): Promise<string> {
  const before = errors.length;
  const faults = await axeFaults(page);
  errors.length = before;
  return faults;
}

async function checkAll(browser: Browser): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.setViewportSize(phone);
  const wide: string[] = [];
  for (const path of pages) {
    await page.goto(address(path));
    const found = await tooWide(page, phone.width);
    if (found !== '') wide.push(`${path}: ${found}`);
  }
  check(`all ${pages.length} pages fit a phone`, pages.length > 100 && wide.length === 0, wide.slice(0, 8).join('; '));
  check('the browser complains of nothing', errors.length === 0, errors.slice(0, 8).join('; '));
  await page.close();
}

async function checkKinds(browser: Browser): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, errors } = await openTab(browser, colorScheme);
    for (const [name, size] of Object.entries({ phone, desk })) {
      await page.setViewportSize(size);
      for (const path of kinds) {
        await page.goto(address(path));
        const small = name === 'phone' ? await phoneFaults(page) : [];
        const faults = [await faultsIn(page, errors), await tooWide(page, size.width), ...small]
          .filter(Boolean)
          .join('; ');
        check(`${path}, ${colorScheme}, ${name}: axe finds no fault, and it fits`, faults === '', faults);
      }
    }
    check(`no complaint, ${colorScheme}`, errors.length === 0, errors.join('; '));
    await page.close();
  }
}

async function checkUse(browser: Browser): Promise<void> {
  const { page, errors } = await openTab(browser);
  page.setDefaultTimeout(0);
  await page.goto(address('docs/config.html'));
  await page.getByLabel('Search all pages').fill('gq playground');
  const hit = page.locator('#found a').first();
  await hit.waitFor();
  check('a search finds places', / places$/.test(await seenText(page, '#found p')), await seenText(page, '#found'));
  const faults = await faultsIn(page, errors);
  check('axe finds no fault in what was found', faults === '', faults);
  await hit.click();
  check('the best place opens', /docs\/commands\/.*#gq-playground$/.test(page.url()), page.url());
  await page.getByLabel('Search all pages').fill('quarentine');
  await page.getByText('for “quarantine”').waitFor();
  check('a misspelt word finds places', (await page.locator('#found a').count()) > 0, await seenText(page, '#found'));
  await page.getByLabel('Search all pages').fill('xyzzyx');
  await page.getByText('no places').waitFor();
  await page.keyboard.press('Escape');
  check('Escape closes the search', (await page.locator('#found *').count()) === 0);

  await page.setViewportSize(phone);
  await page.goto(address('index.html'));
  check('on a phone the navigation is folded away', !(await page.locator('#navigation').isVisible()));
  await page.getByRole('link', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Tutorial', exact: true }).click();
  check('and opens', page.url().endsWith('docs/guide/first-hour.html'), page.url());

  await page.goto(address('demo.html'));
  await page.getByRole('link', { name: 'Open a study in the viewer' }).click();
  await page.getByText('demo-quick').first().waitFor();
  check('the viewer opens from the folder, with its study', true);
  await page.goto(address('playground/index.html'));
  await page.locator('main pre').waitFor();
  const said = await seenText(page, 'main');
  check(
    'the playground says how to serve the folder that it lies in',
    said.includes(`-d "${join(folder, 'playground')}"`) && (await tooWide(page, phone.width)) === '',
    said,
  );
  check('the browser complains of nothing while the site is used', errors.length === 0, errors.join('; '));
  await page.close();
}

const browser = await findChromium()();
try {
  await checkKinds(browser);
  await checkUse(browser);
  await checkAll(browser);
} finally {
  await browser.close();
}
console.log(`site: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
