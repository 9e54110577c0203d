/** What people write in the viewer, and the matrix of loopholes, in any of its homes. */
import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { check } from './chromium.ts';
import { hostileText } from './view-lab.ts';
import { axeFaults, openTab, seenText, shown, waitFor } from './view-tab.ts';

export async function checkMatrix(browser: Browser, home: string, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.goto(`${address}#/matrix/claim`);
  check(
    `${home}: the matrix has known and held-out loopholes`,
    await waitFor(page, /run_tests\s+known[\s\S]*sentinel\s+held out/),
  );
  await page
    .getByRole('row', { name: /^gate sentinel/ })
    .locator('a')
    .last()
    .click();
  const opened = await waitFor(page, /Prompt 1 of 6: problem-1 \(seed 1\), sentinel/);
  check(
    `${home}: a number opens the answers of its arm and loophole, of all seeds`,
    opened,
    (await shown(page)).slice(0, 300),
  );
  await page.goto(`${address}#/experiment/claim`);
  await waitFor(page, /While training/);
  await page.getByText('the numbers of “hack on hinted prompts, while training”').click();
  check(`${home}: curves of three seeds have a mean and a band`, await waitFor(page, /0\.\d+ ± 0\.\d+ \(n = 3\)/));
  await page.locator('.table td a >> visible=true').first().click();
  check(`${home}: a number of a table opens its answers`, await waitFor(page, /Answers of claim, (vanilla|gate)/));
  await page.goto(`${address}#/rollout/tryout%2Factivation-1?rollout=2-0-1`);
  await waitFor(page, /tokens, mean log-probability/);
  const strip = await seenText(page, 'pre.tokens');
  check(
    `${home}: the strip has the texts of tokens`,
    /[a-z]{2}/.test(strip) && !strip.startsWith('#'),
    strip.slice(0, 80),
  );
  await page.goto(`${address}#/rollout/claim%2Fgate-1?rollout=1-0-1`);
  await page.getByText('the numbers of the tokens').click();
  check(`${home}: and their log-probabilities, routes and scores`, await waitFor(page, /3\s+"?.*\s+-7\s+route\s+0\.9/));
  check(`${home}: no error at the matrix`, errors.length === 0, errors.join('; '));
  await page.close();
}

/** Labels two rollouts, one of them after a look at its verdict. */
export async function checkLabels(browser: Browser, home: string, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.goto(`${address}#/label/claim`);
  await waitFor(page, /1 of 36 in a shuffled order, 0 labelled[\s\S]*Completion/);
  await page.getByLabel('signed').fill('Ann');
  await page.locator('h1').click();
  const blind = await shown(page);
  const tells = /vanilla|claim\/|seed|reward \d|exploited|surprise/.exec(blind.replace(/Blind: .*/, ''))?.[0];
  check(`${home}: blind labelling tells neither arm nor route nor verdict`, tells === undefined, tells);
  check(
    `${home}: nor does its address or title`,
    !/vanilla|gate/.test(`${page.url()} ${await page.title()}`),
    page.url(),
  );
  await page.keyboard.press('h');
  check(`${home}: h labels and goes on`, await waitFor(page, /2 of 36 in a shuffled order, 1 labelled/));
  await page.keyboard.press('b');
  check(`${home}: b shows what the oracle said`, await waitFor(page, /verdict\s+(attempt|clean|neither)/));
  await page.keyboard.press('b');
  await page.keyboard.press('c');
  check(`${home}: c labels, too`, await waitFor(page, /3 of 36 in a shuffled order, 2 labelled/));
  await page.keyboard.press('u');
  await waitFor(page, /4 of 36 in a shuffled order, 3 labelled/);
  await page.keyboard.press('k');
  await waitFor(page, /3 of 36/);
  await page.keyboard.press('u');
  check(`${home}: the same key takes a label back`, await waitFor(page, /3 of 36 in a shuffled order, 2 labelled/));
  await page.getByRole('link', { name: 'agreement' }).click();
  const agreement = /Ann\s+the oracle\s+blind\s+1\s[\s\S]*Ann\s+the oracle\s+all\s+2\s/;
  check(`${home}: agreement counts blind labels apart`, await waitFor(page, agreement), await shown(page));
  const faults = await axeFaults(page);
  check(`${home}: axe finds nothing in the agreement`, faults === '', faults);
  await page.locator('td a').first().click();
  check(`${home}: a label opens its rollout`, await waitFor(page, /your label[\s\S]*Completion/));
  check(`${home}: no error while labelling`, errors.length === 0, errors.join('; '));
  await page.close();
}

export async function checkNotes(browser: Browser, home: string, address: string): Promise<void> {
  const { page, errors } = await openTab(browser, 'dark');
  await page.goto(`${address}#/gate/claim%2Fgate-1?update=2`);
  await waitFor(page, /The gate of claim\/gate-1/);
  await page.keyboard.press('n');
  await page.getByLabel('a note on this view').fill(hostileText.replaceAll('\u0000', ''));
  await page.getByLabel('signed').fill('Ann \u202e');
  const faults = await axeFaults(page);
  check(`${home}: axe finds nothing in the form of a note`, faults === '', faults);
  await page.getByRole('button', { name: 'pin', exact: true }).click();
  await page.locator('aside').waitFor({ state: 'detached' });
  await page.locator('h1').click();
  await page.keyboard.press('g');
  check(
    `${home}: a note stands at home, as text`,
    await waitFor(
      page,
      /Notes[\s\S]*<script>window\.hacked = 1<\/script>[\s\S]*and \\u202e turned[\s\S]*Ann \\u202e, /,
    ),
  );
  await page.getByRole('link', { name: 'gate claim/gate-1' }).click();
  await waitFor(page, /The gate of claim\/gate-1/);
  check(`${home}: and leads back to its view`, page.url().includes('update=2'), page.url());
  const ran = await page.evaluate('window.hacked');
  check(`${home}: nothing in it has run`, ran === undefined && errors.length === 0, `${ran} ${errors}`);
  await page.close();
}

/** Without a server nothing is stored, and what was written can be taken along. */
export async function checkDownload(browser: Browser, home: string, address: string): Promise<void> {
  const { page } = await openTab(browser);
  await page.goto(`${address}#/label/claim`);
  await waitFor(page, /1 of 36[\s\S]*Completion/);
  await page.keyboard.press('c');
  await waitFor(page, /2 of 36/);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'download what you wrote: 1' }).click(),
  ]);
  const line = JSON.parse(readFileSync(await download.path(), 'utf8'));
  check(
    `${home}: a copy offers what was written as a file`,
    line.label === 'clean' && line.blind === true,
    JSON.stringify(line),
  );
  await page.close();
}
