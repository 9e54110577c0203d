/**
 * Stops an experiment from outside: its process, with runs side by side, by a kill and by an interrupt while training; one whose
 * runs go one after another by an interrupt while evaluating. It must say how to go on, and end with the same bytes as one that was
 * left alone.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { gqProgram } from '../gq-command.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { fingerprint } from './kill.ts';

const home = temporaryFolder();
const recipe = join(home, 'pair.toml');
const runs = ['vanilla-1', 'activation-1'];
const updates = 8;
const short = ['device.variant=plain', `updates=${updates}`, 'output.checkpointEvery=2'];
const settings = [`model=${await tinyModel()}`, ...tinySettings, ...short];

beforeAll(() => {
  const arm = (name: string) => `[[arms]]\nname = "${name}"\nrecipe = "${resolve('recipes', `micro-${name}.toml`)}"\n`;
  const evaluation = '[evaluation]\nlimit = 4\ncurveEvery = 0\nsets = ["test-original"]\n';
  writeFileSync(recipe, `name = "pair"\nseeds = [1]\n${evaluation}${['vanilla', 'activation'].map(arm).join('')}`);
});

interface Life {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A signal that is sent once, as soon as the moment has come. */
interface Stop {
  readonly signal: NodeJS.Signals;
  readonly when: () => boolean;
}

const experimentArguments = (out: string, jobs: number): string[] => {
  const sets = settings.flatMap((setting) => ['--set', setting]);
  return ['experiment', recipe, '--out', out, '--jobs', `${jobs}`, ...sets];
};

/** Two runs at a time, in processes of their own. */
function liveSideBySide(out: string, stop: Stop): Promise<Life> {
  const args = [gqProgram(), ...experimentArguments(out, 2)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (text.out += chunk));
  child.stderr.on('data', (chunk) => (text.err += chunk));
  const watch = setInterval(() => {
    // Before it says how many runs it trains, it reads plans and warns, and an interruption has nothing to say.
    if (!text.err.includes('at a time') || !stop.when()) return;
    clearInterval(watch);
    child.kill(stop.signal);
  }, 10);
  return new Promise<Life>((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => done({ code, ...text }));
  }).finally(() => clearInterval(watch));
}

/** One run after another in this process, which is interrupted once it has said the given words. */
async function liveHere(out: string, interruptAt: RegExp | null = null): Promise<Life> {
  const text = { out: '', err: '' };
  let left = interruptAt;
  const hear = (words: string): void => {
    text.err += words;
    if (!left?.test(text.err)) return;
    left = null;
    setImmediate(() => process.emit('SIGINT'));
  };
  const stdout = { write: (words: string) => (text.out += words) };
  return { code: await runCli(experimentArguments(out, 1), { stdout, stderr: { write: hear } }), ...text };
}

const evaluationsOf = (out: string, run: string): string[] => readdirSync(join(out, run, 'evaluations')).sort();

async function expectSame(found: string, whole: string): Promise<void> {
  for (const run of runs) {
    const prints = await fingerprint(join(found, run));
    // An interrupted run has one more checkpoint: the one it saved when it was interrupted.
    for (const [name, print] of await fingerprint(join(whole, run))) expect(prints.get(name), name).toBe(print);
    expect(evaluationsOf(found, run)).toEqual(evaluationsOf(whole, run));
    for (const name of evaluationsOf(whole, run)) {
      const text = (out: string) => readFileSync(join(out, run, 'evaluations', name), 'utf8');
      expect(text(found)).toBe(text(whole));
    }
  }
}

const checkpointsOf = (out: string, run: string): string[] => {
  const folder = join(out, run, 'checkpoints');
  return existsSync(folder) ? readdirSync(folder).filter((name) => /^\d+$/.test(name)) : [];
};

/** The moment at which both runs have made an update in this life and saved it: none is still starting, the later one is far from its end. */
function inTraining(out: string): () => boolean {
  const lastOf = (run: string): number => Math.max(0, ...checkpointsOf(out, run).map(Number));
  const before = runs.map(lastOf);
  return () => runs.every((run, i) => lastOf(run) > before[i] || lastOf(run) === updates);
}

const isEvaluated = (out: string) => (run: string) => existsSync(join(out, run, 'evaluations'));

describe('an experiment that is stopped', () => {
  const whole = join(home, 'whole');

  beforeAll(async () => {
    const life = await liveHere(whole);
    expect(life, life.err).toMatchObject({ code: 0 });
    expect(life.err).toContain('left in total');
  });

  async function stopTwice(out: string): Promise<[string, Life, Life]> {
    const killed = await liveSideBySide(out, { signal: 'SIGKILL', when: inTraining(out) });
    // The runs notice that their parent is gone, save and stop; until then their folders are locked.
    await expect.poll(() => runs.some((run) => existsSync(join(out, run, 'lock.json')))).toBe(false);
    return [out, killed, await liveSideBySide(out, { signal: 'SIGINT', when: inTraining(out) })];
  }

  it('side by side: leaves no process behind when it is killed, can be interrupted, and gives the same bytes', async () => {
    let [out, killed, interrupted] = await stopTwice(join(home, 'side-0'));
    // On a busy machine both runs may be over before anybody looks: then it is tried in another folder.
    for (let i = 1; killed.code === 0 || interrupted.code === 0 || runs.every(isEvaluated(out)); i++) {
      [out, killed, interrupted] = await stopTwice(join(home, `side-${i}`));
    }
    expect(killed.code).toBe(null);
    expect(interrupted, interrupted.err).toMatchObject({ code: 75 });
    expect(interrupted.out).toContain(
      `interrupted; what is finished is kept; go on with: gq experiment ${recipe} --out ${out} --jobs 2 --set model=`,
    );
    expect(interrupted.out).toContain('--jobs 2');
    // The second life went on side by side from a kill; how the third goes on from its interruption must not matter.
    const last = await liveHere(out);
    expect(last, last.err).toMatchObject({ code: 0 });
    await expectSame(out, whole);
  });

  function takeTrained(out: string, run: string): void {
    const isTrained = (path: string): boolean => !path.includes('evaluations');
    cpSync(join(whole, run), join(out, run), { recursive: true, filter: isTrained });
  }

  it('goes on after an interruption while evaluating: what was evaluated is kept', async () => {
    const out = join(home, 'evaluating');
    // What the runs train is not in question here: each is taken from the experiment that was left alone, without its evaluations.
    takeTrained(out, 'vanilla-1');
    const first = await liveHere(out, /making \d+ evaluations/);
    expect(first, first.err).toMatchObject({ code: 75 });
    expect(first.err).toContain('interrupted: finishing this update or evaluation');
    expect(first.out).toContain('interrupted; what is finished is kept; go on with: gq experiment');
    expect(existsSync(join(out, 'activation-1'))).toBe(false);
    takeTrained(out, 'activation-1');
    const second = await liveHere(out);
    expect(second, second.err).toMatchObject({ code: 0 });
    await expectSame(out, whole);
  });
});
