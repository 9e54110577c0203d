/**
 * What watching costs training: the micro model is trained in turns with and without a page that follows the run in headless Chromium,
 * from a server in a process of its own. Prints what training, server and browser used of the processor, which also holds on busy cores, and
 * the ratio of the times of the updates, which needs quiet ones: turns of a pair have the same seed and do the same work, in alternating order.
 *   node bench/watch.ts [--pairs N] [--updates N] [--threads N] [--screen run|gate|rollouts|home]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { median } from '../src/stats/index.ts';
import { findChromium } from '../test/browser/chromium.ts';
import { gqProgram } from '../test/gq-command.ts';

const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    updates: { type: 'string', default: '60' },
    threads: { type: 'string', default: '2' },
    screen: { type: 'string', default: 'run' },
  },
});

const root = mkdtempSync(join(tmpdir(), 'gq-bench-watch-'));

function startTraining(name: string): ChildProcess {
  const settings = [`updates=${options.updates}`, `device.threads=${options.threads}`, 'seed=7'];
  const recipe = resolve('recipes', 'micro-activation.toml');
  const words = ['train', recipe, '--out', join(root, name), ...settings.flatMap((setting) => ['--set', setting])];
  return spawn(process.execPath, [gqProgram(), ...words], { stdio: ['ignore', 'ignore', 'inherit'] });
}

async function startServer(): Promise<{ readonly child: ChildProcess; readonly address: string }> {
  const child = spawn(process.execPath, [gqProgram(), 'view', root, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [first]: Buffer[] = await once(child.stdout ?? child, 'data');
  return { child, address: first.toString().trim() };
}

/** Seconds of all updates but the first, in which programs are still compiled. */
function secondsOf(name: string): number {
  const lines = readFileSync(join(root, name, 'timings.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .slice(1);
  const all = lines.flatMap((line): number[] => Object.values(JSON.parse(line).seconds));
  return all.reduce((sum, seconds) => sum + seconds, 0);
}

/** Processor seconds so far of the training, the server and the browser, each with what it started. */
interface Used {
  readonly training: number;
  readonly server: number;
  readonly browser: number;
}

function usedBy(training: number): Used {
  const seconds = processorSeconds();
  const [trained, served] = [seconds.below(training), seconds.below(child.pid ?? 0)];
  // What this process started and is neither of them is the browser.
  return {
    training: trained,
    server: served,
    browser: seconds.below(process.pid) - seconds.of(process.pid) - trained - served,
  };
}

async function trainTurn(name: string, page: Page | null, address: string): Promise<number> {
  const child = startTraining(name);
  const over = once(child, 'close');
  const pid = child.pid ?? 0;
  while (!existsSync(join(root, name, 'timings.jsonl')) && child.exitCode === null) await wait(50);
  const before = usedBy(pid);
  await page?.goto(`${address}#/${options.screen}/${options.screen === 'home' ? '' : name}`);
  // At the last look before the end the page is still open.
  let after = before;
  const looking = setInterval(() => {
    const now = usedBy(pid);
    if (now.training > after.training) after = now;
  }, 250);
  const [code] = await over;
  clearInterval(looking);
  if (code !== 0) throw new Error(`training ended with ${code}`);
  if (page !== null) report(name, before, after);
  await page?.goto('about:blank');
  return secondsOf(name);
}

const shares: { readonly server: number; readonly browser: number }[] = [];
const percent = (share: number): string => `${(100 * share).toFixed(2)}%`;

function report(name: string, before: Used, after: Used): void {
  const [training, server, browser] = (['training', 'server', 'browser'] as const).map(
    (key) => after[key] - before[key],
  );
  const share = { server: server / training, browser: browser / training };
  shares.push(share);
  const own = `server ${server.toFixed(2)} s (${percent(share.server)}), browser ${browser.toFixed(2)} s (${percent(share.browser)})`;
  console.log(`${name}: training used ${training.toFixed(1)} s of the processor, ${own}`);
}

/** Seconds of processor time of every process now, alone and with all that it started. */
function processorSeconds(): { of(pid: number): number; below(pid: number): number } {
  const stats = readdirSync('/proc').flatMap((name) => {
    try {
      // Fields after the name in parentheses, which may hold spaces: state, parent, …, user and system time in 1/100 s.
      const fields = readFileSync(`/proc/${Number(name)}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
        .map(Number);
      return [{ pid: Number(name), parent: fields[1], seconds: (fields[11] + fields[12]) / 100 }];
    } catch {
      return [];
    }
  });
  const of = (pid: number): number => stats.find((own) => own.pid === pid)?.seconds ?? 0;
  const below = (pid: number): number =>
    stats.filter(({ parent }) => parent === pid).reduce((sum, own) => sum + below(own.pid), of(pid));
  return { of, below };
}

const launch = findChromium();
const { child, address } = await startServer();
const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1180, height: 900 } });
  const ratios: number[] = [];
  for (let pair = 0; pair < Number(options.pairs); pair++) {
    const seconds = { watched: 0, alone: 0 };
    const order = pair % 2 === 0 ? (['watched', 'alone'] as const) : (['alone', 'watched'] as const);
    for (const turn of order) {
      seconds[turn] = await trainTurn(`${turn}-${pair}`, turn === 'watched' ? page : null, address);
    }
    ratios.push(seconds.watched / seconds.alone);
    const [watched, alone] = [seconds.watched.toFixed(2), seconds.alone.toFixed(2)];
    console.log(`pair ${pair + 1}: watched ${watched} s, alone ${alone} s, ratio ${ratios[pair].toFixed(3)}`);
  }
  const [low, high] = [Math.min(...ratios).toFixed(3), Math.max(...ratios).toFixed(3)];
  console.log(`${options.screen}: ratio ${median(ratios).toFixed(3)} (${low} to ${high}), ${ratios.length} pairs`);
  const [server, browserShare] = [shares.map((one) => one.server), shares.map((one) => one.browser)].map(median);
  const both = median(shares.map((one) => one.server + one.browser));
  console.log(
    `${options.screen}: of the processor time of training the server used ${percent(server)}, the browser ${percent(browserShare)}, both ${percent(both)}`,
  );
} finally {
  await browser.close();
  child.kill('SIGINT');
  rmSync(root, { recursive: true, force: true });
}
