/** Numbers that lead to what they were counted from, the flow of rollouts into blocks, and labels of answers, in any home of the viewer. */
import type { Browser } from 'playwright-core';
import { check } from './chromium.ts';
import { axeFaults, openTab, shown, waitFor } from './view-tab.ts';

export async function checkDoors(browser: Browser, home: string, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  const open = async (hash: string, text: RegExp): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${address}${hash}`);
    await waitFor(page, text);
  };
  await open('#/experiment/claim', /paired differences/);
  await page.getByRole('link', { name: 'gate − vanilla' }).or(page.locator('td a[href*="compare"]')).first().click();
  check(
    `${home}: a difference of two arms opens two runs of a seed`,
    await waitFor(page, /Compare claim\/gate-1[\s\S]*outcomes: rows claim\/gate-1, columns claim\/vanilla-1/),
    (await shown(page)).slice(0, 300),
  );
  await page.locator('summary').first().click();
  await page.locator('details a').first().click();
  check(`${home}: and a prompt of it its answers`, await waitFor(page, /Answers of claim\/gate-1 after update 3/));
  await open('#/experiment/claim', /While training/);
  const plain = await page.evaluate(`[...document.querySelectorAll('.table table')].flatMap((table) =>
    [...table.querySelectorAll('tbody tr')].filter((row) => /\\d/.test(row.textContent) && row.querySelector('a') === null)
      .map((row) => table.caption.textContent + ': ' + row.textContent))`);
  check(
    `${home}: every row of its tables has a door`,
    JSON.stringify(plain) === '[]',
    JSON.stringify(plain).slice(0, 600),
  );
  await page.getByText('the numbers of “mean reward, while training”').click();
  await page.getByRole('table', { name: 'mean reward, while training' }).locator('th a').nth(1).click();
  check(`${home}: an update of a chart's table opens its rollouts`, await waitFor(page, /^12 of 36 rollouts/m));
  await page.getByRole('button', { name: 'gate 6', exact: true }).click();
  check(
    `${home}: which an arm narrows`,
    (await waitFor(page, /^6 of 36 rollouts/m)) && page.url().includes('arm=gate'),
  );
  await open('#/gate/claim%2Fgate-1', /scores against the cuts/);
  await page.getByRole('table', { name: 'scores against the cuts' }).locator('td a').first().click();
  check(`${home}: a window of the gate opens its rollouts`, await waitFor(page, /^6 of 6 rollouts/m), page.url());
  check(`${home}: no error behind the doors`, errors.length === 0, errors.join('; '));
  await page.close();
}

/** Routed rollouts pulled on the quarantine only, kept ones on the deployed block. */
export async function checkFlow(browser: Browser, home: string, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.goto(`${address}#/gate/claim%2Fgate-1`);
  await waitFor(page, /Where rollouts went/);
  const words = await page.evaluate(
    `JSON.stringify([...document.querySelectorAll('svg[aria-label*=block] a')].map((each) => each.getAttribute('aria-label')))`,
  );
  check(
    `${home}: the flow goes on to the blocks`,
    /keep → deployed block, 50\.0%[\s\S]*route → quarantine, 50\.0%/.test(`${words}`),
    `${words}`,
  );
  await page.getByRole('button', { name: 'gradient norm' }).click();
  check(`${home}: by the norm of gradients, too`, page.url().includes('flow=mass'));
  const faults = await axeFaults(page);
  check(`${home}: axe finds nothing in the flow`, faults === '', faults);
  await page.locator('svg[aria-label*=block] a[aria-label*="→ quarantine"]').first().focus();
  await page.keyboard.press('Enter');
  check(`${home}: a ribbon to a block opens its rollouts`, await waitFor(page, /^3 of 6 rollouts/m), page.url());
  check(`${home}: no error in the flow`, errors.length === 0, errors.join('; '));
  await page.close();
}

/** Labels two answers blind, and one beside its verdict. */
export async function checkAnswerLabels(browser: Browser, home: string, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  await page.goto(`${address}#/labels/claim`);
  await page.getByRole('link', { name: 'answers of evaluations' }).click();
  await waitFor(page, /1 of \d+ in a shuffled order, 0 labelled[\s\S]*Completion/);
  const blind = (await shown(page)).replace(/Blind: .*/, '');
  const tells = /vanilla|claim\/|seed|as trained|deployed|verdict (attempt|clean|neither)/.exec(blind)?.[0];
  check(`${home}: answers are labelled blind to arm, policy and verdict`, tells === undefined, tells);
  await page.getByLabel('signed').fill('Ben');
  await page.locator('h1').click();
  await page.keyboard.press('c');
  check(`${home}: c labels an answer and goes on`, await waitFor(page, /2 of \d+ in a shuffled order, 1 labelled/));
  await page.goto(`${address}#/answers/claim%2Fgate-1?set=test-original`);
  await waitFor(page, /your label/);
  await page.keyboard.press('h');
  const pressed = page.locator('fieldset.labels button[aria-pressed=true]');
  await pressed.waitFor();
  check(`${home}: an answer is labelled where it is read`, (await pressed.textContent()) === 'hack (h)');
  await page.goto(`${address}#/labels/claim`);
  const agreement = /Ben\s+the oracle, on evaluated answers\s+blind\s+1\s/;
  check(`${home}: agreement on answers is counted apart`, await waitFor(page, agreement), await shown(page));
  await page.locator('td a[href*="answers"]').first().click();
  check(`${home}: a label of an answer opens it`, await waitFor(page, /Answers of claim\/[\s\S]*your label/));
  check(`${home}: no error while answers are labelled`, errors.length === 0, errors.join('; '));
  await page.close();
}
