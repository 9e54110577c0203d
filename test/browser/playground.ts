/**
 * The playground in headless Chromium, on a static server that sets no header: it isolates itself, trains with the bytes of the command line,
 * and is fit to read in both themes, on a phone and to a screen reader. `node test/browser/playground.ts [updates]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openLab } from '../../src/lab/open.ts';
import type { RunConfig } from '../../src/run/index.ts';
import { playgroundArms, writePlayground } from '../../src/view/playground.ts';
import { check, counts, findChromium } from './chromium.ts';
import { axeFaults, openTab } from './view-tab.ts';

const updates = Number(process.argv[2] ?? 40);
if (!(updates >= 1)) throw new Error(`playground: expected a number of updates, found ${process.argv[2]}`);
const mostGzippedBytes = 12e6;
const types: Readonly<Record<string, string>> = {
  ...{ '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json' },
};

async function serve(folder: string): Promise<{ address: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const path = request.url === '/' ? '/index.html' : (request.url ?? '');
    const body = await readFile(join(folder, normalize(path))).catch(() => null);
    const type = types[extname(path)] ?? 'application/octet-stream';
    response.writeHead(body === null ? 404 : 200, { 'Content-Type': type }).end(body ?? '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

/** The hash of the adapter after every update, by the command line's own trainer and its sandboxed judge. */
async function hashesInNode(config: RunConfig): Promise<readonly string[]> {
  await using lab = await openLab({ config });
  const { trainer } = await lab.trainer;
  const hashes: string[] = [];
  for await (const event of trainer.train()) if (event.kind === 'step') hashes.push(event.adapterHash);
  return hashes;
}

/** Trains in a worker of the page, and tells the hash after every update. */
async function hashesInPage(page: Page, config: RunConfig, threads: number): Promise<readonly string[]> {
  return (await page.evaluate(`new Promise((resolve, reject) => {
    const worker = new Worker('lane.js');
    const hashes = [];
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.onmessage = ({ data }) => {
      if (data.kind === 'failed') reject(new Error(data.message));
      if (data.kind !== 'update') return;
      hashes.push(data.done.hash);
      if (data.done.update === ${config.updates}) { worker.terminate(); resolve(hashes); }
    };
    worker.postMessage({ kind: 'open', config: ${JSON.stringify(config)}, prompts: 2, variant: 'plain', threads: ${threads} });
    worker.postMessage({ kind: 'trainTo', update: ${config.updates} });
  })`)) as readonly string[];
}

async function comparePage(page: Page, name: string, threads: number): Promise<void> {
  const { config } = playgroundArms(updates).find((arm) => arm.name === name) ?? playgroundArms(updates)[0];
  const expected = await hashesInNode(config);
  const found = await hashesInPage(page, config, threads);
  const first = expected.findIndex((hash, i) => hash !== found[i]);
  const words = `${name}, ${threads} threads: ${updates} updates leave the bytes of the command line`;
  check(words, first < 0 && found.length === expected.length, `update ${first + 1} differs`);
}

async function checkPage(browser: Browser, address: string): Promise<void> {
  const { page, errors } = await openTab(browser);
  page.setDefaultTimeout(0);
  await page.goto(address);
  await page.waitForFunction('crossOriginIsolated && document.querySelectorAll("section").length === 2');
  check('it isolates itself on a server without headers', true);
  await page.waitForFunction(
    '[...document.querySelectorAll("[role=status]")].every((line) => /^paused/.test(line.textContent))',
  );
  await page.getByRole('button', { name: 'One update' }).click();
  await page.waitForFunction('document.querySelectorAll("section pre").length === 2');
  check('one update shows the rollouts of both lanes', (await page.locator('.rollouts li').count()) === 128);
  await page.getByLabel('Delete the quarantine').check();
  check('the switch shows the other state', (await page.getByText('quarantine deleted').count()) > 0);
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    const faults = await axeFaults(page);
    check(`axe finds no fault, ${scheme}`, faults === '', faults);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  const wide = await page.evaluate('document.documentElement.scrollWidth');
  check('it fits a phone', Number(wide) <= 360, `${wide} pixels wide`);
  check('the link names seed and remedies', page.url().endsWith('#seed=1&left=vanilla&right=activation'), page.url());
  await comparePage(page, 'activation', 2);
  check('the browser complains of nothing', errors.length === 0, errors.join('; '));
  await page.close();
}

const launch = findChromium();
const folder = mkdtempSync(join(tmpdir(), 'playground-suite-'));
const { gzippedBytes } = await writePlayground(join(folder, 'site'), 100);
check('all of it is at most 12 MB gzipped', gzippedBytes <= mostGzippedBytes, `${gzippedBytes} bytes`);
const { address, close } = await serve(join(folder, 'site'));
const browser = await launch();

try {
  await checkPage(browser, address);
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  await page.goto(`${address}/arms.json`);
  for (const name of ['vanilla', 'activation', 'haar']) await comparePage(page, name, 1);
} finally {
  await browser.close();
  close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`playground: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
