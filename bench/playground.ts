/**
 * The playground in headless Chromium: an update of the demo's gate in a worker of the page and in Node, in turns and with as many threads;
 * frames a second and memory while both lanes of the page train. `node bench/playground.ts [threads] [updates]`
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { openLab } from '../src/lab/open.ts';
import type { RunConfig } from '../src/run/index.ts';
import { playgroundArms, writePlayground } from '../src/view/playground.ts';
import { findChromium } from '../test/browser/chromium.ts';
import { serve } from '../test/browser/static-server.ts';

const [threads, updates] = [Number(process.argv[2] ?? 1), Number(process.argv[3] ?? 12)];

async function openInPage(page: Page, config: RunConfig): Promise<() => Promise<number>> {
  await page.evaluate(`window.lane = new Worker('lane.js');
    window.heard = (kind) => new Promise((resolve, reject) => {
      lane.onmessage = ({ data }) => {
        if (data.kind === 'failed') reject(new Error(data.message));
        if (data.kind === kind) resolve(data);
      };
    });
    lane.postMessage({ kind: 'open', config: ${JSON.stringify(config)}, prompts: 1, variant: 'plain', threads: ${threads} });
    heard('ready').then(() => undefined)`);
  let update = 0;
  return async () => {
    update += 1;
    return Number(
      await page.evaluate(`lane.postMessage({ kind: 'trainTo', update: ${update} });
        heard('update').then(({ done }) => done.seconds)`),
    );
  };
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Seconds of an update, in turns. The first one of each, in which code is compiled, does not count. */
async function timeUpdates(page: Page, config: RunConfig): Promise<void> {
  const inPage = await openInPage(page, config);
  await using lab = await openLab({ config });
  const { trainer } = await lab.trainer;
  const events = trainer.train();
  const inNode = async (): Promise<number> => {
    const started = performance.now();
    while ((await events.next()).value?.kind !== 'step');
    return (performance.now() - started) / 1000;
  };
  const seconds: Record<'page' | 'node', number[]> = { page: [], node: [] };
  for (let i = 0; i < updates; i += 1) {
    seconds.page.push(await inPage());
    seconds.node.push(await inNode());
  }
  await page.evaluate('lane.terminate()');
  const [own, other] = [median(seconds.page.slice(1)), median(seconds.node.slice(1))];
  console.log(
    `update, ${threads} threads: page ${own.toFixed(3)} s, Node ${other.toFixed(3)} s, ratio ${(own / other).toFixed(2)}`,
  );
}

const parentOf = (id: number): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1]);

/** Whether a process was started by this one, or by one that was. */
function isOwn(id: number): boolean {
  return id === process.pid || (id > 1 && isOwn(parentOf(id)));
}

/** MB that each process of a page holds, most first, what is shared counted by its share; the browser keeps one or two beside the tab's. */
function pageMegabytes(): readonly number[] {
  const pages = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && existsSync(`/proc/${name}/cmdline`))
    .filter((name) => readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('--type=renderer') && isOwn(Number(name)));
  const held = pages.map((id) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'))?.[1]));
  return held.map((kilobytes) => Math.round(kilobytes / 1000)).sort((a, b) => b - a);
}

async function watchPage(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Train', exact: true }).click();
  const frames = await page.evaluate(`new Promise((resolve) => {
    let count = 0;
    const start = performance.now();
    const next = (now) => {
      count += 1;
      if (now - start < 10_000) requestAnimationFrame(next);
      else resolve((1000 * count) / (now - start));
    };
    requestAnimationFrame(next);
  })`);
  // Memory grows with the longest updates so far.
  await page.waitForFunction(`[...document.querySelectorAll("section [role=status]")]
    .every((line) => Number(/After (\\d+) /.exec(line.textContent)?.[1]) >= 5)`);
  const done = await page.getByText(/After \d+ updates?/).allTextContents();
  console.log(`while two lanes train: ${Number(frames).toFixed(1)} frames a second, ${pageMegabytes().join(' + ')} MB`);
  console.log(done.map((line) => line.slice(0, 60)).join('\n'));
}

const folder = mkdtempSync(join(tmpdir(), 'playground-bench-'));
await writePlayground(join(folder, 'site'), 100);
const { address, close } = await serve(join(folder, 'site'));
const browser = await findChromium()();
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  await page.goto(address);
  await page.waitForFunction(
    '[...document.querySelectorAll("[role=status]")].filter((line) => /^paused/.test(line.textContent)).length === 2',
  );
  await watchPage(page);
  await page.close();
  const other = await browser.newPage();
  other.setDefaultTimeout(0);
  await other.goto(`${address}/plan.json`);
  await timeUpdates(other, {
    ...playgroundArms(100)[1].config,
    device: { ...playgroundArms(100)[1].config.device, threads },
  });
} finally {
  await browser.close();
  close();
  rmSync(folder, { recursive: true, force: true });
}
