/** A tab of the browser, and what the suites of the viewer ask of it. */
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';

export interface OpenTab {
  readonly page: Page;
  /** Everything that the browser complained about. */
  readonly errors: string[];
}

const sizes = { desk: { width: 1180, height: 900 }, phone: { width: 390, height: 800 } } as const;

export async function openTab(
  browser: Browser,
  colorScheme: 'light' | 'dark' = 'light',
  size: keyof typeof sizes = 'desk',
): Promise<OpenTab> {
  const page = await browser.newPage({ viewport: sizes[size], colorScheme });
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
  // A machine that is busy with other things may take long; one that never shows it must end.
  const deadline = Date.now() + 120_000;
  while (Date.now() < deadline) {
    if (text.test(await shown(page))) return true;
    await page.waitForTimeout(50);
  }
  return false;
}

/** Texts of drawings that are cut off at an edge, or that stand on each other or on a ribbon; and a row of tabs in which the current one is not in sight. */
export async function hiddenTexts(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => {
    const near = 1;
    const placeOf = (element) => element.getBoundingClientRect();
    const drawings = [...document.querySelectorAll('main svg')].flatMap((svg) => {
      const area = placeOf(svg);
      const texts = [...svg.querySelectorAll('text')].filter((text) => text.checkVisibility());
      const places = texts.map((text) => ({ words: text.textContent, ...placeOf(text).toJSON() }));
      const cut = places.filter(({ left, right, top, bottom }) =>
        left < area.left - near || right > area.right + near || top < area.top - near || bottom > area.bottom + near);
      const over = places.flatMap((a, i) => places.slice(i + 1).filter((b) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > near &&
        // The box of a line of text has room above and below its letters.
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > a.height / 3).map((b) => [a.words, b.words]));
      const ribbons = [...svg.querySelectorAll('a path')];
      const under = ribbons.length === 0 ? [] : texts.filter((text) => {
        const { x, y, width, height } = text.getBBox();
        const ends = [x, x + width].map((at) => new DOMPoint(at, y + height / 2));
        return ribbons.some((path) => ends.some((end) => path.isPointInFill(end)));
      });
      return [...cut.map(({ words }) => 'cut off: ' + words), ...under.map(({ textContent }) => 'on a ribbon: ' + textContent), ...over.map((both) => 'one on the other: ' + both.join(' and '))];
    });
    const [row, tab] = ['nav.tabs', 'nav.tabs [aria-current]'].map((name) => document.querySelector(name));
    const isHidden = tab !== null && (placeOf(tab).left < placeOf(row).left - near || placeOf(tab).right > placeOf(row).right + near);
    return [...drawings, ...(isHidden ? ['the tab ' + tab.textContent + ' is not in sight'] : [])];
  })()`)) as string[];
}

/** What is wrong on a phone: texts below 12 px, as they are seen, a page wider than it, rates that are not all in sight, and rows that are tall for a cell out of sight. */
export async function phoneFaults(page: Page, least = 12): Promise<string[]> {
  return (await page.evaluate(`(() => {
    const wide = document.documentElement.scrollWidth - innerWidth;
    const small = [...document.querySelectorAll('header *, main *')].flatMap((element) => {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
      if (!own || !element.checkVisibility()) return [];
      const { a, b } = element instanceof SVGElement ? element.getScreenCTM() : { a: 1, b: 0 };
      const scale = Math.hypot(a, b);
      const size = parseFloat(getComputedStyle(element).fontSize) * scale;
      return size < ${least} ? [size.toFixed(1) + ' px: ' + element.textContent.slice(0, 60)] : [];
    });
    const rates = document.querySelector('.scroll:has(> #findings)');
    const away = rates === null ? 0 : rates.scrollWidth - rates.clientWidth;
    const range = document.createRange();
    const heightOf = (cell) => (range.selectNodeContents(cell), range.getBoundingClientRect().height);
    const blank = [...document.querySelectorAll('main .scroll tbody tr')].flatMap((row) => {
      const end = row.closest('.scroll').getBoundingClientRect().right;
      const seen = [...row.cells].filter((cell) => cell.getBoundingClientRect().left < end).map(heightOf);
      const more = row.getBoundingClientRect().height - Math.max(...seen);
      return more > 50 ? [more.toFixed(0) + ' px of a row are blank: ' + row.textContent.slice(0, 60)] : [];
    });
    const unseen = away > 0 ? [away + ' px of the rates are not in sight'] : [];
    return [...(wide > 0 ? [wide + ' px too wide'] : []), ...small, ...unseen, ...blank];
  })()`)) as string[];
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

/**
 * Where a rate or a count of hacks stands on a screen without that of attempts before it: in the same table, figure, row of charts, list of choices, description of
 * a picture or sentence, or in a table of its own before it. What a model wrote and what people said of hacks are no rates.
 */
export async function hacksAlone(page: Page): Promise<string[]> {
  const blocks = 'table, figure, p, li, .charts, .facets, .facts, [role=img], svg[aria-label], svg[aria-label] a';
  return (await page.evaluate(`(() => {
    const captions = [...document.querySelectorAll('caption')].map((caption) => caption.textContent);
    const textOf = (block) => {
      const words = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
      const texts = [];
      while (words.nextNode()) texts.push(words.currentNode.data);
      return texts.join(' ');
    };
    return [...document.querySelectorAll('${blocks}')]
      .filter((block) => block.closest('pre, .labels, .virtual, .notes, aside') === null)
      .filter(({ caption }) => !/^(people against|where a person|unsure|agreed)/.test(caption?.textContent ?? ''))
      .filter(({ caption }) => !/^hack /.test(caption?.textContent ?? '') ||
        !captions.includes(caption.textContent.replace('hack', 'attempt')))
      .map((block) => block.getAttribute('aria-label') ?? textOf(block))
      .filter((text) => {
        const [attempt, hack] = [/\\battempts?\\b/i, /\\bhacks?\\b/i].map((word) => text.search(word));
        return /\\d/.test(text) && hack >= 0 && (attempt < 0 || attempt > hack);
      })
      .map((text) => text.replace(/\\s+/g, ' ').slice(0, 160));
  })()`)) as string[];
}
