/**
 * What watching costs training: the micro model is trained in turns with and without a page that follows the run in headless Chromium,
 * from a server in a process of its own. Turns of a pair have the same seed, so they do the same work; their order alternates.
 * Prints the seconds of the updates of every turn, the ratio of every pair, and the median with its range. Needs quiet cores.
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

/** What the server and the browser have used: all that this process started, but for the training. */
const used = (training: number | undefined): number =>
  processorSeconds(process.pid, [training]) - process.cpuUsage().user / 1e6 - process.cpuUsage().system / 1e6;

async function trainTurn(name: string, page: Page | null, address: string): Promise<number> {
  const child = startTraining(name);
  const over = once(child, 'close');
  let before = 0;
  if (page !== null) {
    while (!existsSync(join(root, name, 'timings.jsonl')) && child.exitCode === null) await wait(50);
    await page.goto(`${address}#/${options.screen}/${options.screen === 'home' ? '' : name}`);
    before = used(child.pid);
  }
  // At the last look before the end the page is still open.
  let after = before;
  const looking = setInterval(() => {
    after = used(child.pid);
  }, 500);
  const [code] = await over;
  clearInterval(looking);
  if (code !== 0) throw new Error(`training ended with ${code}`);
  if (page !== null) {
    const seconds = (after - before).toFixed(1);
    console.log(
      `${name}: server and browser used ${seconds} s of the processor; training took ${secondsOf(name).toFixed(1)} s`,
    );
  }
  await page?.goto('about:blank');
  return secondsOf(name);
}

/** Seconds of processor time that a process and those it started have used, without those of `without`. */
function processorSeconds(root: number, without: readonly (number | undefined)[] = []): number {
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
  const of = (pid: number): number =>
    stats.filter(({ parent }) => parent === pid && !without.includes(pid)).reduce((sum, own) => sum + of(own.pid), 0) +
    (without.includes(pid) ? 0 : (stats.find((own) => own.pid === pid)?.seconds ?? 0));
  return of(root);
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
} finally {
  await browser.close();
  child.kill('SIGINT');
  rmSync(root, { recursive: true, force: true });
}
