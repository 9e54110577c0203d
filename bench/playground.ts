/**
 * The playground in headless Chromium: how soon its first update is made, memory and frames while both lanes train, and an update in a worker
 * of the page against one in Node, in turns and with as many threads. Beside every time stands the CPU time, which other programs change
 * less. `node bench/playground.ts [threads] [turns] [updates]`
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openLab } from '../src/lab/open.ts';
import type { RunConfig } from '../src/run/index.ts';
import { playgroundArms, writePlayground } from '../src/view/playground.ts';
import { fileOf, findChromium, megabytes, pageProcesses } from '../test/browser/chromium.ts';
import { serve } from '../test/browser/static-server.ts';

const [threads, turns, updates] = [1, 12, 40].map((usual, i) => Number(process.argv[2 + i] ?? usual));
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const say = (words: string): void => console.log(`${words} (load ${loadavg()[0].toFixed(0)})`);

const ticksPerSecond = 100;

/** CPU seconds of every thread of a process. */
const threadSeconds = (id: string): readonly number[] =>
  readdirSync(`/proc/${id}/task`).map((thread) => {
    const fields = fileOf(id, `task/${thread}/stat`).split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond;
  });
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const cpuSeconds = (): number => sum(pageProcesses().flatMap(threadSeconds));

const updated = (page: Page, least: number) =>
  page.waitForFunction(`[...document.querySelectorAll("section [role=status]")]
    .every((line) => Number(/After (\\d+) /.exec(line.textContent)?.[1]) >= ${least})`);
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

async function newPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(0);
  return page;
}

/** The first visit: nothing is cached, the page isolates itself, and training is asked for as soon as both lanes are open. */
async function timeFirst(browser: Browser, address: string): Promise<Page> {
  const page = await newPage(await browser.newContext());
  const started = performance.now();
  await page.goto(address);
  await page.waitForFunction(
    '/^paused.*paused/.test([...document.querySelectorAll("section [role=status]")].map((line) => line.textContent).join(" "))',
  );
  const opened = performance.now();
  await press(page, 'One update');
  await updated(page, 1);
  const ended = performance.now();
  const seconds = pageProcesses().map(threadSeconds);
  const busiest = Math.max(...seconds.flat());
  say(
    `first update ${((ended - started) / 1000).toFixed(1)} s after the visit began, both lanes open after ${((opened - started) / 1000).toFixed(1)} s; ` +
      `CPU time ${sum(seconds.flat()).toFixed(1)} s in all, ${busiest.toFixed(1)} s of the busiest thread`,
  );
  return page;
}

const framesCode = `new Promise((resolve) => {
  let count = 0;
  const start = performance.now();
  const next = (now) => {
    count += 1;
    if (now - start < 10_000) requestAnimationFrame(next);
    else resolve((1000 * count) / (now - start));
  };
  requestAnimationFrame(next);
})`;

/** Frames a second, what the page's own thread does for an update, and memory up to the last update. */
async function watchPage(page: Page): Promise<void> {
  const idle = Number(await page.evaluate(framesCode));
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const taskSeconds = async (): Promise<number> => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
  };
  await press(page, 'Train');
  const frames = Number(await page.evaluate(framesCode));
  say(`frames a second: ${frames.toFixed(1)} while two lanes train, ${idle.toFixed(1)} while they wait`);
  await updated(page, 2);
  const [busy, first] = [await taskSeconds(), await updatesMade(page)];
  const most = { tab: 0, all: 0 };
  let made = first;
  for (; made < 2 * updates; made = await updatesMade(page)) {
    const held = pageProcesses().map(megabytes);
    most.tab = Math.max(most.tab, ...held);
    most.all = Math.max(most.all, sum(held));
    await page.waitForTimeout(2000);
  }
  const each = (1000 * ((await taskSeconds()) - busy)) / (made - first);
  say(`the page's own thread: ${each.toFixed(1)} ms of CPU time for an update of a lane`);
  await press(page, 'Pause');
  const counted = (await page.evaluate('performance.measureUserAgentSpecificMemory()')) as { readonly bytes: number };
  say(
    `memory over ${updates} updates of two lanes, at most: ${most.tab.toFixed(0)} MB in the page's process, ${most.all.toFixed(0)} MB with the service worker's and Chromium's spare ones; ` +
      `counted by the browser at the end: ${(counted.bytes / 1e6).toFixed(0)} MB`,
  );
}

/** Of both lanes together; the slower one counts. */
const updatesMade = async (page: Page): Promise<number> => {
  const lines = await page.locator('section [role=status]').allTextContents();
  const failed = lines.find((line) => line.startsWith('failed'));
  if (failed !== undefined) throw new Error(failed);
  return 2 * Math.min(...lines.map((line) => Number(/After (\d+) /.exec(line)?.[1])));
};

async function openInPage(page: Page, config: RunConfig): Promise<() => Promise<number>> {
  const open = { kind: 'open', config, prompts: 1, variant: 'plain', threads, keeps: false };
  await page.evaluate(`window.lane = new Worker('lane.js');
    window.heard = (kind) => new Promise((resolve, reject) => {
      lane.onmessage = ({ data }) => {
        if (data.kind === 'failed') reject(new Error(data.message));
        if (data.kind === kind) resolve(data);
      };
    });
    lane.postMessage(${JSON.stringify(open)});
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

/**
 * Seconds of an update, in turns. The first one of each, in which code is compiled, does not count. Node's programs run in a sandbox, whose
 * processes are waited for and whose CPU time is not in its share; the page's CPU time has two answers to a prompt in it.
 */
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
  const ratios: Record<'time' | 'cpu', number[]> = { time: [], cpu: [] };
  for (let i = 0; i <= turns; i += 1) {
    const before = cpuSeconds();
    const own = await inPage();
    const cpu = cpuSeconds() - before;
    const start = process.cpuUsage();
    const other = await inNode();
    const { user, system } = process.cpuUsage(start);
    if (i === 0) continue;
    ratios.time.push(own / other);
    ratios.cpu.push(cpu / ((user + system) / 1e6));
  }
  await page.evaluate('lane.terminate()');
  const spread = (values: readonly number[]): string =>
    `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;
  say(
    `update, ${threads} ${threads === 1 ? 'thread' : 'threads'}, page over Node, median of ${turns} turns: time ${spread(ratios.time)}, CPU time ${spread(ratios.cpu)}`,
  );
}

const folder = mkdtempSync(join(tmpdir(), 'playground-bench-'));
await writePlayground(join(folder, 'site'), 100);
const { address, close } = await serve(join(folder, 'site'));
const browser = await findChromium()();
try {
  const page = await timeFirst(browser, address);
  await watchPage(page);
  // A page of the same context is isolated as this one is.
  const other = await newPage(page.context());
  await other.goto(`${address}/plan.json`);
  const { config } = playgroundArms(100)[1];
  await timeUpdates(other, { ...config, device: { ...config.device, threads } });
} finally {
  await browser.close();
  close();
  rmSync(folder, { recursive: true, force: true });
}
