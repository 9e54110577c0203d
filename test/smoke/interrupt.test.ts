/**
 * Ctrl-C in long commands: exit 75, a word on what is kept and how to go on, no lock, no child, no temporary folder. Others are
 * interrupted elsewhere: train in commands.test.ts, experiments in test/resume, micro pretrain in test/lab/told.test.ts.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { gqProgram } from '../gq-command.ts';
import { Lab, tinySettings } from './lab.ts';

let lab: Lab;
let settings: readonly string[];
beforeAll(async () => {
  lab = await Lab.open();
  const own = [`model=${lab.model}`, ...tinySettings, 'arm.kind=absorb', 'updates=2', 'output.checkpointEvery=1'];
  settings = own.flatMap((setting) => ['--set', setting]);
  expect((await gq('train', ...settings, '--out', lab.path('whole'))).code).toBe(0);
});
afterAll(() => lab[Symbol.asyncDispose]());

async function gq(...argv: readonly string[]): Promise<{ code: number; said: string }> {
  let said = '';
  const stream = { write: (text: string) => (said += text) };
  return { code: await runCli(argv, { stdout: stream, stderr: stream }), said };
}

/** Interrupts the training after its first update: before, there is nothing to save. */
async function interruptedTraining(signal: NodeJS.Signals, argv: readonly string[]): ReturnType<typeof gq> {
  let [said, isPressed] = ['', false];
  const write = (text: string): void => {
    said += text;
    if (isPressed || !said.includes('"kind":"step"')) return;
    isPressed = true;
    process.emit(signal);
  };
  return { code: await runCli(argv, { stdout: { write }, stderr: { write } }), said };
}

/** A command in a process of its own, which gets the signals as soon as it has said what they wait for. */
async function signalled(
  argv: readonly string[],
  signals: readonly NodeJS.Signals[],
  when: RegExp,
  stdin: 'ignore' | number = 'ignore',
): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [gqProgram(), ...argv], { stdio: [stdin, 'pipe', 'pipe'] });
  let [said, isSent] = ['', false];
  const hear = (text: string): void => {
    said += text;
    if (isSent || !when.test(said)) return;
    isSent = true;
    for (const signal of signals) child.kill(signal);
  };
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', hear);
  return { code: await new Promise<number | null>((resolve) => child.on('close', resolve)), said };
}

/** Interrupts the command as soon as it listens for it. */
async function interrupted(signal: NodeJS.Signals, ...argv: readonly string[]): ReturnType<typeof gq> {
  if (argv[0] === 'train') return interruptedTraining(signal, argv);
  const press = (event: string | symbol): void => {
    if (event === signal) setImmediate(() => process.emit(signal));
  };
  process.on('newListener', press);
  try {
    return await gq(...argv);
  } finally {
    process.off('newListener', press);
  }
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' });
}

describe('a command that saves', () => {
  it.each<[string, NodeJS.Signals, () => string[], RegExp]>([
    [
      'train --json',
      'SIGUSR1',
      () => ['train', ...settings, '--json', '--out', lab.path('json')],
      /saved; go on with: .* --json/,
    ],
    [
      'eval',
      'SIGTERM',
      () => ['eval', lab.path('whole'), '--limit', '1'],
      /evaluations are kept; go on with: gq eval /,
    ],
    [
      'eval --curve',
      'SIGINT',
      () => ['eval', lab.path('whole'), '--curve'],
      /evaluations are kept; go on with: gq eval .* --curve/,
    ],
    [
      'eval --leak',
      'SIGINT',
      () => ['eval', lab.path('whole'), '--leak', '--limit', '1'],
      /probes are kept; go on with: gq eval .* --leak --limit 1/,
    ],
    [
      'measure relearn',
      'SIGINT',
      () => ['measure', 'relearn', lab.path('whole'), '--out', lab.path('again')],
      /saved in .*; go on with: gq measure relearn /,
    ],
  ])('%s, ended by %s', async (_, signal, argv, words) => {
    const { code, said } = await interrupted(signal, ...argv());
    expect({ code, said }).toEqual({ code: 75, said: expect.stringMatching(words) });
    expect(said).toContain('(again to quit at once)');
    expect(filesBelow(lab.path('.')).filter((file) => file.includes('lock'))).toEqual([]);
    expect(process.listenerCount('SIGINT')).toBe(0);
  });
});

describe('the time that an update takes', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });
  /** What the command says itself; two digits and more: the usual 8 seconds would not do. */
  const longer = /interrupted: finishing this update.*, then saving, in at most \d{2,} s/;

  it('is what training is given to end', async () => {
    vi.stubEnv('GQ_GRACE', '');
    let ahead = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 5000 * ahead++);
    const { code, said } = await interrupted('SIGINT', 'train', ...settings, '--json', '--out', lab.path('slow'));
    expect({ code, said }).toEqual({ code: 75, said: expect.stringMatching(longer) });
  });

  it('is what an experiment gives the processes of its runs', async () => {
    vi.stubEnv('GQ_GRACE', '');
    // In the processes of the runs, not in the one that starts them, seconds are thousands.
    const fast = `if (/job-process/.test(process.argv[1])) { const now = performance.now.bind(performance); performance.now = () => 1000 * now(); }`;
    vi.stubEnv('NODE_OPTIONS', `--import data:text/javascript,${encodeURIComponent(fast)}`);
    const recipe = lab.path('two.toml');
    writeFileSync(recipe, 'name = "two"\nseeds = [1, 2]\n[[arms]]\nname = "absorb"\nrecipe = "micro-absorb"\n');
    const argv = ['experiment', recipe, '--jobs', '2', ...settings, '--set', 'updates=500', '--out', lab.path('two')];
    const { code, said } = await signalled(argv, ['SIGINT'], /absorb.*update \d/);
    expect({ code, said }).toEqual({ code: 75, said: expect.stringMatching(longer) });
  });
});

describe('the same command again', () => {
  const train = () => ['train', ...settings, '--json', '--out', lab.path('json')];

  it('goes on with the run that it began, is done with one that is finished, and refuses another', async () => {
    expect(await gq(...train())).toMatchObject({ code: 0, said: expect.stringContaining('"finished"') });
    expect(await gq(...train())).toMatchObject({ code: 0, said: expect.stringContaining('already-finished') });
    const other = await gq(...train(), '--set', 'seed=7');
    expect(other).toMatchObject({ code: 2, said: expect.stringContaining('a directory without a run') });
  });
});

describe('a terminal that is closed (SIGHUP)', () => {
  /** Hangs up twice after the first update: so do a terminal and its shell. */
  const hungUp = (name: string, stdin: 'ignore' | number) =>
    signalled(
      ['train', ...settings, '--set', 'updates=30', '--json', '--out', lab.path(name)],
      ['SIGHUP', 'SIGHUP'],
      /"kind":"step"/,
      stdin,
    );

  it('has a run saved and ended, which the same command goes on with', async () => {
    const { code, said } = await hungUp('closed', 'ignore');
    expect({ code, said }).toEqual({ code: 75, said: expect.stringMatching(/saved; go on with: /) });
  });

  it.runIf(process.platform === 'linux')('does not end what nohup started', async () => {
    // At a terminal nohup leaves a stdin that can only be written.
    const { code, said } = await hungUp('nohup', openSync('/dev/null', 'w'));
    expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining('"finished"') });
  });
});

/** The processes that a process has started, and those that they have. */
function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

const isGone = (pid: number): boolean =>
  !existsSync(`/proc/${pid}`) || / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describe.runIf(process.platform === 'linux')('a command that has nothing to save', () => {
  it('ends at once, and leaves nothing behind', async () => {
    const temporary = lab.path('temporary');
    mkdirSync(temporary);
    const child = spawn(process.execPath, [gqProgram(), 'verify', 'arm', ...settings, '--updates', '500'], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    const isWorking = (): boolean => filesBelow(temporary).some((file) => file.endsWith('verdicts.jsonl'));
    while (!isWorking()) await new Promise((go) => setTimeout(go, 50));
    const started = descendants(child.pid ?? 0);
    expect(started.length).toBeGreaterThan(0);
    child.kill('SIGINT');
    expect({ code: await ended, said }).toMatchObject({ code: 75, said: expect.stringContaining('interrupted: ') });
    expect(readdirSync(temporary).filter((name) => name.startsWith('gq-arm-'))).toEqual([]);
    await expect.poll(() => started.filter((pid) => !isGone(pid))).toEqual([]);
  });
});
