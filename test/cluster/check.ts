/**
 * `npm run check:cluster`: a small experiment on a Slurm of one node, which this program starts and ends. Its jobs are requeued, reach
 * a time limit, see their node drained and are cancelled; what they leave must be, byte for byte, what a local experiment leaves.
 * Exits 1 if anything differs, and 2 with a list of what is missing where no Slurm can be started.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { gqProgram } from '../gq-command.ts';
import { fingerprint } from '../resume/kill.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { missingParts, SlurmDaemons } from './daemons.ts';

const runs = ['vanilla-1', 'activation-1', 'vanilla-2', 'activation-2'];
const updates = 250;
const patienceSeconds = 600;

const failures: string[] = [];
function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
function expectThat(what: string, isSo: boolean): void {
  say(`${isSo ? 'ok ' : 'BAD'} ${what}`);
  if (!isSo) failures.push(what);
}

function writeRecipe(home: string): string {
  const arm = (name: string) => `[[arms]]\nname = "${name}"\nrecipe = "${resolve('recipes', `micro-${name}.toml`)}"\n`;
  const evaluation = '[evaluation]\nlimit = 4\ncurveEvery = 0\nsets = ["test-original"]\n';
  const slurm = '[slurm]\ncpus = 1\nwarnSeconds = 45\n';
  const path = join(home, 'pair.toml');
  writeFileSync(
    path,
    `name = "pair"\nseeds = [1, 2]\nplacebo = "vanilla"\n${slurm}${evaluation}${['vanilla', 'activation'].map(arm).join('')}`,
  );
  return path;
}

interface Command {
  readonly child: ChildProcess;
  readonly said: () => string;
  readonly ended: Promise<number | null>;
}

function gq(words: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const child = spawn(process.execPath, [gqProgram(), ...words], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk));
  return { child, said: () => text, ended: new Promise((end) => child.on('close', end)) };
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + patienceSeconds * 1000; Date.now() < end; await wait(200)) if (isSo()) return;
  throw new Error(`waited in vain for ${what}`);
}

const savedOf = (out: string, run: string): number => {
  const folder = join(out, run, 'checkpoints');
  return existsSync(folder) ? Math.max(0, ...readdirSync(folder).map(Number).filter(Number.isFinite)) : 0;
};

async function compare(found: string, whole: string): Promise<void> {
  for (const run of runs) {
    const prints = await fingerprint(join(found, run));
    const others = [...(await fingerprint(join(whole, run)))].filter(([name, print]) => prints.get(name) !== print);
    const text = (out: string): string => {
      const folder = join(out, run, 'evaluations');
      return readdirSync(folder).sort().map((name) => `${name} ${readFileSync(join(folder, name), 'utf8')}`).join('\n'); // biome-ignore format: one line
    };
    expectThat(
      `${run} has the bytes of the local run${others.map(([name]) => ` ${name}`).join('')}`,
      others.length === 0,
    );
    expectThat(`${run} has its evaluations`, text(found) === text(whole));
  }
}

/** Requeues, drains and cancels while the first array runs under a time limit of a minute. */
async function disturb(slurm: SlurmDaemons, command: readonly string[], out: string): Promise<void> {
  const first = gq([...command, '--time', '1', '--jobs', '2'], slurm.environment);
  const job = () => /submitted as job (\d+)/.exec(first.said())?.[1] ?? '';
  await until('two runs that have saved', () => savedOf(out, runs[0]) > 0 && savedOf(out, runs[1]) > 0);
  slurm.run('scontrol', 'requeue', `${job()}_0`);
  await until('the requeue of the first run', () => /vanilla-1: job \d+_0 (PENDING|REQUEUED)/.test(first.said()));
  slurm.run('scontrol', 'update', 'nodename=localhost', 'state=drain', 'reason=check');
  await until('a queue that waits for the node', () => /DRAIN/.test(slurm.run('squeue', '-h', '-t', 'PD', '-o', '%r')));
  slurm.run('scontrol', 'update', 'nodename=localhost', 'state=resume');
  await until('the third run', () => savedOf(out, runs[2]) > 0);
  slurm.run('scancel', `${job()}_2`);
  const code = await first.ended;
  writeFileSync(join(out, '..', 'first.txt'), first.said());
  expectThat(
    'a cancelled job is named, and the command fails',
    code === 1 && /vanilla-2 failed: CANCELLED/.test(first.said()),
  );
  expectThat('runs reached their time limit, and went on', first.said().includes('the time limit is near'));
  expectThat('the others are done', !/(vanilla-1|activation-\d) failed/.test(first.said()));
}

async function check(home: string, slurm: SlurmDaemons): Promise<void> {
  const recipe = writeRecipe(home);
  const settings = [`model=${await tinyModel()}`, ...tinySettings, `updates=${updates}`, 'output.checkpointEvery=5'];
  const sets = [...settings, 'device.variant=plain'].flatMap((setting) => ['--set', setting]);
  const [whole, out] = [join(home, 'local'), join(home, 'slurm')];
  const local = gq(['experiment', recipe, '--out', whole, '--jobs', '2', ...sets], process.env);
  expectThat('the local experiment ends with 0', (await local.ended) === 0);
  const command = ['experiment', recipe, '--out', out, '--on', 'slurm', ...sets];
  await disturb(slurm, command, out);
  const second = gq(command, slurm.environment);
  expectThat('the same command does the rest', (await second.ended) === 0);
  expectThat('and only the rest', second.said().includes('1 of 4 runs submitted'));
  const third = gq(command, slurm.environment);
  expectThat(
    'what is finished is not done again',
    (await third.ended) === 0 && third.said().includes('nothing to submit'),
  );
  await compare(out, whole);
  if (failures.length > 0) say(`${readFileSync(join(home, 'first.txt'), 'utf8')}\n${second.said()}\n${third.said()}`);
}

const missing = missingParts();
if (missing.length > 0) {
  say(`no Slurm can be started here; missing: ${missing.join('; ')}`);
  process.exitCode = 2;
} else {
  const home = mkdtempSync(join(tmpdir(), 'gq-cluster-'));
  try {
    await using slurm = await SlurmDaemons.start();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => void slurm[Symbol.asyncDispose]().finally(() => process.exit(75)));
    }
    await check(home, slurm);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
  say(failures.length === 0 ? 'all as it must be' : `${failures.length} wrong`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}
