/**
 * A clock that goes back by an hour while something runs: a run must leave the bytes that it leaves without, its lock must hold, a viewer must
 * go on to see new runs, and the queue must work through its jobs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gqProgram } from '../gq-command.ts';
import { fingerprint } from '../resume/kill.ts';
import { gq } from '../run-gq.ts';
import { askViewer, startViewer } from './viewers.ts';

const preload = fileURLToPath(new URL('./clock-back.mjs', import.meta.url));

/** What a program says whose clock has gone back. */
const wentBack = 'the clock went back';

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

/** Runs the command, and whatever it begins, with a clock that goes back after a few looks at it. */
async function runBack(words: readonly string[], environment = {}): Promise<Ended> {
  const child = spawn(process.execPath, [gqProgram(), ...words], {
    env: { ...process.env, NODE_OPTIONS: `--import=${pathToFileURL(preload)}`, GQ_CLOCK_LOOKS: '1', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

/** Looks at a viewer that are enough for a list that is a few seconds old. */
const mostLooks = 100;

async function checkRun(home: string, train: readonly string[], whole: string): Promise<string[]> {
  const path = join(home, 'clock-run');
  const { code, said } = await runBack(['train', ...train, '--out', path]);
  if (code !== 0) return [`a run ended with ${code}: ${said}`];
  const [found, expected] = [await fingerprint(path), await fingerprint(whole)];
  const differing = [...expected].filter(([name, print]) => found.get(name) !== print).map(([name]) => name);
  const listed = await gq('runs', path, '--json');
  return [
    ...(said.includes(wentBack) ? [] : ['the clock of the run did not go back']),
    ...(differing.length === 0 ? [] : [`other bytes in ${differing.join(', ')}`]),
    ...(listed.code === 0 ? [] : [`gq runs: ${listed.out}${listed.err}`]),
  ];
}

/** A run that appears after the clock went back must be listed. */
async function checkView(home: string, whole: string): Promise<string[]> {
  const folder = join(home, 'clock-view');
  mkdirSync(folder);
  cpSync(whole, join(folder, 'first'), { recursive: true });
  const viewer = await startViewer(folder, preload);
  try {
    const runs = async (): Promise<number> =>
      ((await (await askViewer(viewer, 'home')).json()) as { runs: unknown[] }).runs.length;
    if ((await runs()) !== 1) return ['the viewer does not list the first run'];
    await wait(3000);
    await runs();
    cpSync(whole, join(folder, 'second'), { recursive: true });
    for (let looks = 0; looks < mostLooks; looks++) {
      if ((await runs()) === 2) return [];
      await wait(200);
    }
    return ['the viewer lists no run that appeared after the clock went back'];
  } finally {
    viewer.child.kill();
  }
}

async function checkQueue(home: string): Promise<string[]> {
  const environment = { GQ_QUEUE: join(home, 'clock-queue') };
  const add = () => runBack(['queue', 'add', 'recipes'], environment);
  const before = [await add(), await add()].filter(({ code }) => code !== 0).map(({ said }) => `queue add: ${said}`);
  // Adding a job begins a daemon, which works in the background.
  let said = '';
  const count = (state: string) => [...said.matchAll(new RegExp(`"state": ?"${state}"`, 'g'))].length;
  const usual = process.env['GQ_QUEUE'];
  process.env['GQ_QUEUE'] = environment.GQ_QUEUE;
  do {
    await wait(200);
    said = (await gq('queue', 'list', '--json')).out;
  } while (count('waiting') + count('running') > 0);
  if (usual === undefined) delete process.env['GQ_QUEUE'];
  else process.env['GQ_QUEUE'] = usual;
  const isDone = count('done') === 2;
  const log = readFileSync(join(environment.GQ_QUEUE, 'daemon.log'), 'utf8');
  return [
    ...before,
    ...(isDone ? [] : [`the queue: ${said}`]),
    ...(log.includes(wentBack) ? [] : ['the clock of the daemon did not go back']),
  ];
}

/** Returns what went wrong. */
export async function turnClocksBack(home: string, train: readonly string[], whole: string): Promise<string[]> {
  return [...(await checkRun(home, train, whole)), ...(await checkView(home, whole)), ...(await checkQueue(home))];
}
