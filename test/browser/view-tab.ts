/** A tab of the browser, and what the suites of the viewer ask of it. */
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';

export interface OpenTab {
  readonly page: Page;
  /** Everything that the browser complained about. */
  readonly errors: string[];
}

export async function openTab(browser: Browser, colorScheme: 'light' | 'dark' = 'light'): Promise<OpenTab> {
  const page = await browser.newPage({ viewport: { width: 1180, height: 900 }, colorScheme });
  const errors: string[] = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(error.message));
  return { page, errors };
}

/** The text of an element as it is seen. */
// biome-ignore lint/performance/useDomNodeTextContent: textContent also has what is hidden, and no ends of lines
export const seenText = (page: Page, selector: string): Promise<string> => page.locator(selector).innerText();

export const shown = (page: Page): Promise<string> => seenText(page, 'main');

export async function waitFor(page: Page, text: RegExp): Promise<boolean> {
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline) {
    if (text.test(await shown(page))) return true;
    await page.waitForTimeout(50);
  }
  return false;
}

interface AxeFault {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

export async function axeFaults(page: Page): Promise<string> {
  await page.evaluate(axe.source);
  const faults = (await page.evaluate('axe.run(document).then(({ violations }) => violations)')) as AxeFault[];
  return faults.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)} ${nodes[0].failureSummary}`).join('; ');
}
