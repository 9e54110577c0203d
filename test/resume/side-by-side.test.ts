/**
 * Stops the process of an experiment from outside: with runs side by side or one after another, by an interrupt while training or
 * evaluating, or by a kill. It must say how to go on, and end with the same bytes as one that was left alone.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { gqProgram } from '../gq-command.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { fingerprint } from './kill.ts';

const home = temporaryFolder();
const recipe = join(home, 'pair.toml');
const runs = ['vanilla-1', 'activation-1'];
const short = ['device.variant=plain', 'updates=6', 'output.checkpointEvery=2'];
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
  readonly when: (text: string) => boolean;
}

function live(out: string, jobs: number, stop: Stop | null = null): Promise<Life> {
  const sets = settings.flatMap((setting) => ['--set', setting]);
  const args = [gqProgram(), 'experiment', recipe, '--out', out, '--jobs', `${jobs}`, ...sets];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (text.out += chunk));
  child.stderr.on('data', (chunk) => (text.err += chunk));
  const watch = setInterval(() => {
    if (!stop?.when(text.err)) return;
    clearInterval(watch);
    child.kill(stop.signal);
  }, 10);
  return new Promise<Life>((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => done({ code, ...text }));
  }).finally(() => clearInterval(watch));
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

/** The moment at which both runs have a checkpoint: none is still starting, and the later one is far from its end. */
const inTraining = (out: string) => () => runs.every((run) => existsSync(join(out, run, 'checkpoints', '00002')));

describe('an experiment that is stopped', () => {
  const whole = join(home, 'whole');

  beforeAll(async () => {
    const life = await live(whole, 1);
    expect(life, life.err).toMatchObject({ code: 0 });
  }, 240_000);

  it('side by side gives the same bytes, after an interruption while training too', async () => {
    const out = join(home, 'side');
    const first = await live(out, 2, { signal: 'SIGINT', when: inTraining(out) });
    expect(first, first.err).toMatchObject({ code: 130 });
    expect(first.out).toContain(
      `interrupted; what is finished is kept; go on with: gq experiment ${recipe} --out ${out} --set 'model=`,
    );
    expect(first.out).toContain('--jobs 2');
    const done = runs.filter((run) => existsSync(join(out, run, 'evaluations')));
    expect(done.length).toBeLessThan(runs.length);
    const second = await live(out, 2);
    expect(second, second.err).toMatchObject({ code: 0 });
    expect(second.err).toContain('left in total');
    await expectSame(out, whole);
  }, 240_000);

  it('goes on after an interruption while evaluating: what was evaluated is kept', async () => {
    const out = join(home, 'evaluating');
    const first = await live(out, 1, { signal: 'SIGINT', when: (text) => /making \d+ evaluations/.test(text) });
    expect(first, first.err).toMatchObject({ code: 130 });
    expect(first.err).toContain('interrupted: finishing this evaluation');
    expect(first.out).toContain('interrupted; what is finished is kept; go on with: gq experiment');
    expect(existsSync(join(out, 'activation-1'))).toBe(false);
    const second = await live(out, 3);
    expect(second, second.err).toMatchObject({ code: 0 });
    await expectSame(out, whole);
  }, 240_000);

  it('leaves no process behind when it is killed', async () => {
    const out = join(home, 'killed');
    const first = await live(out, 2, { signal: 'SIGKILL', when: inTraining(out) });
    expect(first.code).toBe(null);
    // The runs notice that their parent is gone, save and stop; until then their folders are locked.
    await expect
      .poll(() => runs.some((run) => existsSync(join(out, run, 'lock.json'))), { timeout: 60_000 })
      .toBe(false);
    const again = await live(out, 2);
    expect(again, again.err).toMatchObject({ code: 0 });
    await expectSame(out, whole);
  }, 240_000);
});
