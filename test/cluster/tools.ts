/** What the parts of the check share: commands of gq as processes, what is expected of them, and the bytes of an experiment. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { gqProgram } from '../gq-command.ts';
import { fingerprint } from '../resume/kill.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';

const patienceSeconds = 600;
export const runs = ['vanilla-1', 'activation-1', 'vanilla-2', 'activation-2'] as const;
/** So many that a run is not over on a fast machine before all that is to disturb it has happened. */
const updates = 1000;

export const failures: string[] = [];
let tried = 0;
export const counted = (): string => `${tried - failures.length} of ${tried} hold`;

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** `detail` is printed where it does not hold. */
export function expectThat(what: string, isSo: boolean, detail = ''): void {
  tried++;
  say(`${isSo ? 'ok ' : 'BAD'} ${what}${isSo || detail === '' ? '' : `\n${detail}`}`);
  if (!isSo) failures.push(what);
}

export interface Command {
  readonly child: ChildProcess;
  readonly said: () => string;
  readonly ended: Promise<number | null>;
}

export function start(program: string, words: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const child = spawn(program, words, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk));
  return { child, said: () => text, ended: new Promise((end) => child.on('close', end)) };
}

export function gq(words: readonly string[], environment: NodeJS.ProcessEnv): Command {
  return start(process.execPath, [gqProgram(), ...words], environment);
}

export async function until(
  what: string,
  isSo: () => boolean,
  said: () => string = () => '',
  milliseconds = 200,
): Promise<void> {
  for (const end = Date.now() + patienceSeconds * 1000; Date.now() < end; await wait(milliseconds)) if (isSo()) return;
  throw new Error(`waited in vain for ${what}\n${said()}`);
}

/** The last update that a run has saved. */
export function savedOf(out: string, run: string): number {
  const folder = join(out, run, 'checkpoints');
  return existsSync(folder) ? Math.max(0, ...readdirSync(folder).map(Number).filter(Number.isFinite)) : 0;
}

export function writeRecipe(home: string, seeds: readonly number[]): string {
  const arm = (name: string) => `[[arms]]\nname = "${name}"\nrecipe = "${resolve('recipes', `micro-${name}.toml`)}"\n`;
  const evaluation = '[evaluation]\nlimit = 4\ncurveEvery = 0\nsets = ["test-original"]\n';
  const head = `name = "pair"\nseeds = [${seeds.join(', ')}]\nplacebo = "vanilla"\n[slurm]\ncpus = 1\nwarnSeconds = 45\n`;
  const path = join(home, `pair-${seeds.join('-')}.toml`);
  writeFileSync(path, `${head}${evaluation}${['vanilla', 'activation'].map(arm).join('')}`);
  return path;
}

export async function settings(others: readonly string[] = []): Promise<string[]> {
  const all = [`model=${await tinyModel()}`, ...tinySettings, `updates=${updates}`, 'output.checkpointEvery=5'];
  // A small rate of learning, or so many updates would end at the tripwire.
  return [...all, 'optimiser.learningRate=1e-4', 'device.variant=plain', ...others].flatMap((setting) => [
    '--set',
    setting,
  ]);
}

let reference: Promise<string> | undefined;

/** The folder of the same experiment, done on this machine without interruption. */
export function localExperiment(home: string): Promise<string> {
  reference ??= (async () => {
    const out = join(home, 'local');
    const words = ['experiment', writeRecipe(home, [1, 2]), '--out', out, '--jobs', '2', ...(await settings())];
    const local = gq(words, process.env);
    expectThat('the local experiment ends with 0', (await local.ended) === 0, local.said());
    return out;
  })();
  return reference;
}

export async function compare(found: string, whole: string, names: readonly string[]): Promise<void> {
  for (const run of names) {
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
