/**
 * Tests the viewer in headless Chromium, in all three homes: from its server, from a folder on another server, and from one file on disk. Every screen by its
 * address, in both themes, at a desk and on a phone, without an error and without a fault that axe finds; keys; a run that is being trained; what a model may
 * write. Prints one line per check and a closing count; exits 1 when a check failed, 2 when there is no Chromium.
 *
 *   node test/browser/view.ts [--only homes,places,live]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { openPage, startView, writeBundle } from '../../src/view/index.ts';
import { serveFolder } from '../file-host.ts';
import { check, counts, findChromium } from './chromium.ts';
import { checkAnswerLabels, checkDoors, checkFlow } from './view-doors.ts';
import { checkDownload, checkLabels, checkMatrix, checkNotes } from './view-human.ts';
import { makeClaim, makeExperiment, makeHostile } from './view-lab.ts';
import { checkLive, checkLiveExperiment } from './view-live.ts';
import { axeFaults, hacksAlone, hiddenTexts, openTab, phoneFaults, seenText, shown, waitFor } from './view-tab.ts';

const gated = 'tryout%2Factivation-1';

/** The address of every screen, and a text that only it has. */
const screens: Readonly<Record<string, readonly [address: string, text: RegExp]>> = {
  home: [
    '#/',
    /Attempts when deployed: [\s\S]*2 of 2 runs finished[\s\S]*attempt, deployed\s+hack, deployed\s+solve, deployed\s+clean solve, deployed/,
  ],
  experiment: ['#/experiment/tryout', /Does the page show what was trained\?[\s\S]*What is claimed, and what is not/],
  run: [
    `#/run/${gated}`,
    /update 6 of 6[\s\S]*rates with 95% intervals over prompts\s+set\s+update\s+state\s+attempt\s+hack\s+solve\s+clean solve/,
  ],
  gate: [
    `#/gate/${gated}?cuts=shares&keep=0.2&route=0.2`,
    /recorded → with these cuts[\s\S]*Target attempts: [\s\S]*Target hacks: [\s\S]*whose gradient the deployed block/,
  ],
  'no gate': [
    '#/gate/tryout%2Fvanilla-1',
    /No rollout has the score of a gate: its arm has no monitor\.[\s\S]*whose gradient the deployed block/,
  ],
  answers: [`#/answers/${gated}`, /Prompt 1 of \d+[\s\S]*as trained: [\s\S]*deployed: /],
  rollouts: ['#/rollouts/tryout?text=solve&order=surprise', /\d+ of 288 rollouts/],
  rollout: [`#/rollout/${gated}?rollout=2-0-1`, /The group: the same prompt, 4 completions/],
  'rollout by token': ['#/rollout/claim%2Fgate-1?rollout=1-0-1', /which the gate gave each token/],
  bands: ['#/experiment/claim', /What would settle it: A lower rate of hacks\.[\s\S]*While training/],
  matrix: ['#/matrix/claim', /by loophole, held-out problems[\s\S]*sentinel\s+held out/],
  unknown: ['#/nowhere/tryout', /There is no such page[\s\S]*#\/nowhere\/tryout/],
  label: ['#/label/claim', /1 of 36 in a shuffled order/],
  labels: ['#/labels/claim', /people against the oracle|Nobody has labelled/],
  compare: [
    '#/compare/tryout%2Fvanilla-1?with=tryout%2Factivation-1',
    /config keys that differ[\s\S]*arm\.kind[\s\S]*Of tryout\/activation-1 alone: [^\n]*arm\.warmupRows[\s\S]*attempt\s+hack\s+solve\s+clean solve[\s\S]*attempt, solved/,
  ],
};

const looks = [
  ['light', 'desk'],
  ['dark', 'desk'],
  ['light', 'phone'],
  ['dark', 'phone'],
] as const;

async function checkScreens(browser: Browser, home: string, address: string): Promise<void> {
  for (const [scheme, size] of looks) {
    // Where the answers come from makes no difference to the size of a page.
    if (size === 'phone' && home !== 'server') continue;
    const { page, errors } = await openTab(browser, scheme, size);
    const at = `${home}, ${scheme}, ${size}`;
    for (const [name, [hash, text]] of Object.entries(screens)) {
      await page.goto('about:blank');
      await page.goto(`${address}${hash}`);
      const isShown = await waitFor(page, text);
      check(`${at}: ${name} by its address`, isShown, isShown ? '' : (await shown(page)).slice(0, 400));
      const told = page.locator('nav.tabs a[aria-current=page]');
      const expected = ['home', 'unknown'].includes(name) ? 0 : 1;
      // Tabs come with the list of all runs, after what the screen asked for itself.
      if (expected === 1) await told.waitFor();
      const tabs = await told.count();
      check(`${at}: the tab of ${name} is told`, tabs === expected, `${tabs}`);
      const faults = await axeFaults(page);
      check(`${at}: axe finds nothing in ${name}`, faults === '', faults);
      const alone = await hacksAlone(page);
      check(`${at}: no hacks without attempts in ${name}`, alone.length === 0, alone.join('\n        '));
      const hidden = await hiddenTexts(page);
      check(`${at}: no text of ${name} is hidden`, hidden.length === 0, hidden.slice(0, 8).join('\n        '));
      if (size === 'desk') continue;
      const small = await phoneFaults(page);
      check(`${at}: ${name} can be read`, small.length === 0, small.slice(0, 5).join('\n        '));
    }
    check(`${at}: no error in the console`, errors.length === 0, errors.join('; '));
    await page.close();
  }
}

/** From a page to its neighbours: the path, the tabs, another run of the same screen, the headings of a long page. */
async function checkPlaces(browser: Browser, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.goto(`${address}#/gate/${gated}`);
  await waitFor(page, /The gate of tryout\/activation-1/);
  await page.getByLabel('run', { exact: true }).selectOption('tryout/vanilla-1');
  check('places: another run is shown on the same screen', await waitFor(page, /The gate of tryout\/vanilla-1/));
  await page.locator('nav.tabs').getByRole('link', { name: 'story' }).click();
  check('places: a tab leads to the story', await waitFor(page, /What is claimed, and what is not/));
  await waitFor(page, /While training/);
  const named = await page.locator('main h2, main .title').allTextContents();
  const ofTraining = named.filter((one) => /while training/i.test(one));
  check('places: what was sampled while training is drawn once', ofTraining.length === 1, named.join());
  const runs = page.getByRole('table', { name: 'arms and seeds' });
  const gates = await runs.getByRole('link', { name: 'gate' }).count();
  check('places: a gate is linked where there is one', gates === 1, `${gates}`);
  await page.goto(`${address}#/matrix/tryout`);
  check(
    'places: a screen that has nothing says why',
    await waitFor(page, /Nothing has been evaluated on more than one loophole[\s\S]*environment\.heldOutLoopholes/),
    await shown(page),
  );
  await page.goto(`${address}#/experiment/tryout`);
  await waitFor(page, /What is claimed, and what is not/);
  const isInSight = (y: number): boolean => y >= 0 && y < 900;
  let top = -1;
  // Figures that arrive later push it away again.
  for (let tries = 0; tries < 20 && !isInSight(top); tries++) {
    await page.locator('nav.contents').getByRole('button', { name: 'Tables' }).click();
    top = (await page.getByRole('heading', { name: 'Tables' }).boundingBox())?.y ?? -1;
  }
  check('places: a heading of the contents is scrolled to', isInSight(top), `${top}`);
  check('places: nothing is called live that is over', (await seenText(page, '#live')) === '');
  await page.locator('nav.crumbs').getByRole('link', { name: 'gq view' }).click();
  check('places: the path leads home', await waitFor(page, /Experiments/));
  check('places: no error', errors.length === 0, errors.join('; '));
  await page.close();
}

async function checkKeys(browser: Browser, home: string, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.goto(`${address}#/answers/${gated}`);
  await waitFor(page, /deployed: /);
  await page.keyboard.press('q');
  check(`${home}: q chooses the policy as trained`, /^as trained: /.test(await seenText(page, '.chosen h3')));
  check(`${home}: and the address says so`, page.url().includes('state=full'));
  await page.keyboard.press('j');
  check(`${home}: j goes to the next prompt`, /Prompt 2 of/.test(await shown(page)));
  await page.goto(`${address}#/answers/claim%2Fgate-1?set=test-original&state=full`);
  await waitFor(page, /Answers of claim\/gate-1/);
  const marks = page.locator('pre[aria-label^="completion, "] .own');
  check(`${home}: what two answers do not share is marked`, (await marks.count()) >= 2, await shown(page));
  await page.keyboard.press('d');
  check(`${home}: d takes the marks away`, (await marks.count()) === 0);
  await page.keyboard.press('?');
  check(`${home}: ? lists the keys`, await page.locator('aside[aria-label=keys]').isVisible());
  await page.keyboard.press('g');
  check(
    `${home}: g goes home, and the state stays`,
    (await waitFor(page, /Experiments/)) && page.url().includes('state=full'),
  );
  await page.goto(`${address}#/rollouts/${gated}`);
  await waitFor(page, /of 144 rollouts/);
  await page.keyboard.press('/');
  await page.keyboard.type('solve\\(self');
  await page.getByLabel('regular expression').check();
  check(`${home}: / searches, by a regular expression too`, await waitFor(page, /^[1-9]\d* of 144 rollouts/m));
  await page.getByRole('button', { name: /^route \d/ }).click();
  check(`${home}: a facet narrows the search`, new URL(page.url()).hash.includes('route=route'));
  await page.locator('h1').click();
  await page.keyboard.press('Escape');
  check(`${home}: Escape clears the search`, await waitFor(page, /^144 of 144 rollouts/m));
  check(`${home}: a line says a score as gq show does`, await waitFor(page, /score -?\d\S+, cuts -?\d\S+ and -?\d/));
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  check(`${home}: j and Enter open a rollout`, await waitFor(page, /Rollout 1-0-1 of/));
  check(`${home}: no error while keys are pressed`, errors.length === 0, errors.join('; '));
  await page.close();
}

async function checkWhatIf(browser: Browser, address: string): Promise<void> {
  const { page } = await openTab(browser);
  await page.goto(`${address}#/gate/${gated}`);
  await waitFor(page, /routes, as recorded/);
  await page.getByRole('button', { name: 'two fixed scores' }).click();
  await page.getByLabel(/route from/).fill((await page.getByLabel(/route from/).getAttribute('min')) ?? '0');
  await page.getByLabel(/keep up to/).fill((await page.getByLabel(/keep up to/).getAttribute('min')) ?? '0');
  const changed = /recorded → with these cuts[\s\S]*[1-9]\d* rollouts change their route/;
  check('what-if cuts are computed from the stored scores', await waitFor(page, changed), await shown(page));
  check('and are part of the address', page.url().includes('cuts=fixed'));
  const ribbon = page.locator('svg a').first();
  const count = /^\d+/.exec((await ribbon.getAttribute('aria-label')) ?? '')?.[0];
  await ribbon.focus();
  await page.keyboard.press('Enter');
  check('a ribbon of the flow opens its rollouts', await waitFor(page, new RegExp(`^${count} of 144 rollouts`, 'm')));
  await page.close();
}

/** A run of its own that was evaluated, without a curve, below a heading that is said once. */
async function checkAlone(browser: Browser, home: string, address: string): Promise<void> {
  const { page } = await openTab(browser);
  await page.goto(`${address}#/`);
  check(`${home}: a run without a curve has the rates of its evaluation`, await waitFor(page, /25%\s+25%\s+50%\s+50%/));
  const headings = (await shown(page)).split('Runs of their own').length - 1;
  check(`${home}: runs of their own have one heading`, headings === 1, `${headings}`);
  await page.close();
}

/** What a model wrote is text: nothing of it runs, nothing of it is an element, and what cannot be seen is escaped. */
async function checkHostile(browser: Browser, home: string, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.goto(`${address}#/rollout/hostile?rollout=1-0-0`);
  await waitFor(page, /Rollout 1-0-0/);
  const text = await seenText(page, 'pre[aria-label=completion]');
  check(
    `${home}: markup is shown as text`,
    text.includes('<script>window.hacked = 1</script>') && text.includes('<img src=x'),
  );
  check(`${home}: control characters are shown as escapes`, text.includes('\\x00\\x07\\x1b[31m and \\u202e'), text);
  const kept = 'return "</span></pre><img src=y onerror=window.hacked=1>" # <script>window.hacked = 1</script>';
  check(`${home}: markup in a program is shown as text`, text.includes(kept), text);
  const keywords = page.locator('pre[aria-label=completion] .hljs-keyword');
  check(`${home}: which is highlighted`, (await keywords.allTextContents()).join() === 'and,def,return', text);
  await page.goto(`${address}#/rollout/hostile?rollout=1-0-1`);
  await waitFor(page, /Rollout 1-0-1/);
  check(`${home}: two megabytes are cut`, (await seenText(page, 'pre[aria-label=completion]')).length < 30_000);
  await page.getByRole('button', { name: /show all/ }).click();
  check(
    `${home}: and shown when asked for`,
    (await page.locator('pre[aria-label=completion]').textContent())?.length === 2_000_009,
  );
  await page.goto(`${address}#/rollouts/hostile`);
  await waitFor(page, /502 of 502/);
  const list = page.locator('.virtual');
  const made = await list.locator('li').count();
  await page.evaluate('document.querySelector(".virtual").scrollTop = 1e9');
  check(`${home}: a long list makes the rows in sight only`, made < 60, `${made}`);
  check(`${home}: and reads the others when they come`, await waitFor(page, /plain 499/));
  const ran = await page.evaluate('[window.hacked, document.querySelectorAll("main img, main script").length]');
  check(
    `${home}: nothing that a model wrote has run`,
    JSON.stringify(ran) === '[null,0]' && errors.length === 0,
    `${JSON.stringify(ran)} ${errors}`,
  );
  await page.close();
}

/** A long search is shown in parts; here the first run takes long to open, and the second waits until it was looked at. */
async function checkParts(browser: Browser, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  let [asked, isHeld] = [0, true];
  await page.route('**/api/files?*', async (route) => {
    asked += 1;
    if (asked === 1) await page.waitForTimeout(600);
    else while (isHeld) await page.waitForTimeout(20);
    return route.continue();
  });
  await page.goto(`${address}#/rollouts/tryout`);
  check(
    'a long search: what was found so far is shown',
    await waitFor(page, /^144 of 144 rollouts so far, 1 runs are still to be searched/m),
  );
  check('a long search: with its rows', (await page.locator('.virtual li').count()) > 0);
  isHeld = false;
  check('a long search: goes on to the end', await waitFor(page, /^288 of 288 rollouts$/m));
  check('a long search: asks no more then', asked === 2, `${asked}`);
  check('a long search: no error', errors.length === 0, errors.join('; '));
  await page.close();
}

/** What was labelled through the server lies beside the run; no other file of it has changed. */
function checkStored(folder: string): void {
  const claim = join(folder, 'claim');
  const found = readdirSync(claim, { recursive: true, encoding: 'utf8' }).filter((name) => /labels|notes/.test(name));
  const lines = found.flatMap((name) => readFileSync(join(claim, name), 'utf8').trimEnd().split('\n'));
  const names = [...new Set(found.map((name) => basename(name)))].sort().join();
  check('labels and notes have files of their own', names === 'human-labels.jsonl,notes.jsonl', found.join());
  const writers = lines.map((line): string => JSON.parse(line).writer);
  const signed = `${writers.filter((writer) => writer.startsWith('Ann')).length} Ann, ${writers.filter((writer) => writer === 'Ben').length} Ben`;
  check('every line names its writer', lines.length === 7 && signed === '5 Ann, 2 Ben', lines.join());
}

/** Without byte ranges a page still works, and says what is missing. */
async function checkNoRanges(browser: Browser, bundle: string): Promise<void> {
  using host = await serveFolder(bundle, { ranges: false });
  const { page, errors } = await openTab(browser);
  await page.goto(`${host.address}#/rollout/${gated}?rollout=2-0-1`);
  check('no byte ranges: a rollout is shown', await waitFor(page, /Rollout 2-0-1/));
  check('no byte ranges: the page says so', /does not answer byte ranges/.test(await seenText(page, 'header')));
  check('no byte ranges: no error', errors.length === 0, errors.join('; '));
  await page.close();
}

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
const launch = findChromium();
const folder = mkdtempSync(join(tmpdir(), 'browser-view-'));
const root = join(folder, 'runs');
try {
  await makeHostile(root);
  await makeExperiment(root);
  await makeClaim(root);
  const files = await openPage();
  const bundle = join(folder, 'bundle');
  const { leftOut } = await writeBundle(root, bundle, files);
  check('the bundle has every page', leftOut.length === 0, JSON.stringify(leftOut));
  await using view = await startView(root, files, { host: '127.0.0.1', port: 0 });
  using host = await serveFolder(bundle, { ranges: true });
  const browser = await launch();
  console.log(`browser: Chromium ${browser.version()}`);
  const homes = {
    server: view.address,
    folder: host.address,
    file: pathToFileURL(join(bundle, 'view.html')).href,
  };
  const parts: Readonly<Record<string, () => Promise<void>>> = {
    async homes() {
      for (const [home, address] of Object.entries(homes)) {
        await checkScreens(browser, home, address);
        await checkKeys(browser, home, address);
        await checkAlone(browser, home, address);
        await checkHostile(browser, home, address);
        await checkMatrix(browser, home, address);
        await checkDoors(browser, home, address);
        await checkFlow(browser, home, address);
        await checkLabels(browser, home, address);
        await checkAnswerLabels(browser, home, address);
        await checkNotes(browser, home, address);
        if (home !== 'server') await checkDownload(browser, home, address);
      }
      checkStored(root);
    },
    async places() {
      await checkPlaces(browser, view.address);
      await checkParts(browser, view.address);
      await checkNoRanges(browser, bundle);
      await checkWhatIf(browser, view.address);
    },
    async live() {
      await checkLive(browser, view.address, root);
      await checkLiveExperiment(browser, view.address, root);
    },
  };
  try {
    for (const name of only?.split(',') ?? Object.keys(parts)) {
      const part = parts[name];
      if (part === undefined) throw new Error(`--only: expected ${Object.keys(parts).join(', ')}, found ${name}`);
      await part();
    }
  } finally {
    await browser.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`browser: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
