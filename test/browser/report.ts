/**
 * Opens reports in headless Chromium as a colleague does who got the file: of two seeds and of one, in both themes, at a desk and on a phone. Nothing in the
 * console, nothing that axe finds, no text too small, nothing wider than the page. Prints one line per check and a closing count; exits 1 when a check
 * failed, 2 when there is no Chromium. PICTURES=DIR keeps what was seen.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { studyName, unpackStudy } from '../golden-study/study.ts';
import { gq } from '../run-gq.ts';
import { check, counts, findChromium } from './chromium.ts';
import { axeFaults, openTab, phoneFaults } from './view-tab.ts';

const open = findChromium();
const scratch = mkdtempSync(join(tmpdir(), 'gq-report-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
unpackStudy(scratch);
const studies = { 'two seeds': join(scratch, studyName), 'one seed': join(scratch, 'one') };
cpSync(studies['two seeds'], studies['one seed'], { recursive: true });
for (const arm of ['vanilla-2', 'activation-2']) rmSync(join(studies['one seed'], arm), { recursive: true });

const looks = [
  ['light', 'desk', 11],
  ['dark', 'desk', 11],
  ['light', 'phone', 12],
  ['dark', 'phone', 12],
] as const;
const browser = await open();
for (const [name, folder] of Object.entries(studies)) {
  const { code, err } = await gq('results', folder, '--html');
  check(`${name}: the report is written`, code === 0, err);
  for (const [scheme, size, least] of looks) {
    const { page, errors } = await openTab(browser, scheme, size);
    if (size === 'desk') await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${pathToFileURL(join(folder, 'report.html'))}`);
    await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true');
    const at = `${name}, ${scheme}, ${size}`;
    const faults = await axeFaults(page);
    check(`${at}: axe finds nothing`, faults === '', faults);
    const small = await phoneFaults(page, least);
    check(`${at}: all can be read, and nothing is wider than the page`, small.length === 0, small.join('\n        '));
    const clipped = (await page.evaluate(`[...document.querySelectorAll('.panels svg text')].flatMap((text) => {
      const [own, all] = [text, text.ownerSVGElement].map((element) => element.getBoundingClientRect());
      const isInside = own.left >= all.left - 1 && own.right <= all.right + 1 && own.top >= all.top - 1 && own.bottom <= all.bottom + 1;
      return isInside ? [] : [text.textContent];
    })`)) as string[];
    check(`${at}: no text of a figure is clipped`, clipped.length === 0, clipped.join('; '));
    const [paper, ink] = (await page.evaluate(`[
      getComputedStyle(document.body).backgroundColor,
      getComputedStyle(document.querySelector('.panels svg text')).fill,
    ].map((colour) => Number(/\\d+/.exec(colour)[0]))`)) as [number, number];
    check(
      `${at}: figures have the ink of the page`,
      scheme === 'dark' ? paper < 60 && ink > 200 : paper > 200 && ink < 60,
      `${paper} ${ink}`,
    );
    check(`${at}: no error in the console`, errors.length === 0, errors.join('; '));
    const pictures = process.env['PICTURES'];
    if (pictures !== undefined)
      await page.screenshot({
        path: join(pictures, `${name.replace(' ', '-')}-${scheme}-${size}.png`),
        fullPage: true,
      });
    await page.close();
  }
}
await browser.close();
console.log(`report: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
