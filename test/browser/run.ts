/**
 * Tests the wasm device in headless Chromium: the op suite with threads (a cross-origin isolated page) and without. Compiles the
 * suite with tsc into a temporary folder, serves it, and drives the browser. Prints one line per check and a closing count;
 * exits 1 when a check failed, 2 when there is no Chromium.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { check, counts, findChromium } from './chromium.ts';
import type { SuiteReport } from './page.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isolation = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
const types: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.wasm': 'application/wasm' };

function compile(folder: string): void {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', join(root, 'test/browser'), '--outDir', folder], { stdio: 'inherit' });
}

/** Serves two pages, one of them isolated, compiled modules from `folder`, and wasm modules from where they are built. */
async function answer(folder: string, path: string, response: ServerResponse): Promise<void> {
  if (path === '/isolated' || path === '/plain') {
    const headers = path === '/isolated' ? isolation : {};
    response.writeHead(200, { 'Content-Type': 'text/html', ...headers }).end('<!doctype html><title>suite</title>');
    return;
  }
  const file = join(path.endsWith('.wasm') ? root : folder, normalize(path));
  const body = await readFile(file).catch(() => null);
  if (body === null) response.writeHead(404).end();
  else response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'text/plain', ...isolation }).end(body);
}

async function serve(folder: string): Promise<{ address: string; close(): void }> {
  const server = createServer((request, response) => void answer(folder, request.url ?? '/', response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** Calls a function of page.ts in the page. */
async function callPage<T>(
  browser: Browser,
  address: string,
  page: string,
  name: string,
  argument: number,
): Promise<T> {
  const tab = await browser.newPage();
  tab.on('pageerror', (error) => console.error(`page: ${error.message}`));
  try {
    await tab.goto(`${address}/${page}`);
    const call = `import('${address}/test/browser/page.js').then((suite) => suite.${name}(${argument}))`;
    return (await tab.evaluate(call)) as T;
  } finally {
    await tab.close();
  }
}

function judge(report: SuiteReport, isolated: boolean): void {
  const label = isolated ? 'isolated page' : 'plain page';
  check(`${label}: crossOriginIsolated is ${isolated}`, report.isolated === isolated);
  for (const line of report.missing) console.log(`NOT tested in this browser: ${line}`);
  for (const { variant, threads, passed, failures } of report.variants) {
    counts.passed += passed;
    console.log(`ok      ${label}, ${variant}, ${threads} threads: ${passed} cases`);
    for (const failure of failures) check(`${label}, ${variant}: ${failure}`, false);
  }
  check(
    `${label}: the plain variant ran`,
    report.variants.some(({ variant }) => variant === 'plain'),
  );
}

async function runSuites(browser: Browser, address: string): Promise<void> {
  const shared = await callPage<SuiteReport>(browser, address, 'isolated', 'runSuite', 2);
  judge(shared, true);
  const alone = await callPage<SuiteReport>(browser, address, 'plain', 'runSuite', 1);
  judge(alone, false);
  const digests = (report: SuiteReport): string =>
    report.variants.map(({ variant, digest }) => `${variant} ${digest}`).join();
  check(
    'the same bytes with 2 threads and with 1',
    digests(shared) === digests(alone),
    `${digests(shared)} | ${digests(alone)}`,
  );
  const refusal = await callPage<string>(browser, address, 'plain', 'askForThreads', 2);
  check('threads on a plain page are refused', /Cross-Origin-Opener-Policy/.test(refusal), refusal);
  const planted = await callPage<number>(browser, address, 'plain', 'countPlantedFailures', 0);
  check('a planted error turns the suite red', planted > 0);
}

const launch = findChromium();
const folder = mkdtempSync(join(tmpdir(), 'browser-suite-'));
try {
  compile(folder);
  const { address, close } = await serve(folder);
  const browser = await launch();
  console.log(`browser: Chromium ${browser.version()}`);
  try {
    await runSuites(browser, address);
  } finally {
    await browser.close();
    close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`browser: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
