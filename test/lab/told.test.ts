/** What commands tell: where they write, how to go on, what changed, which file is damaged; and that an interruption loses nothing. */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandContext } from '../../src/cli/command.ts';
import { sameCall } from '../../src/cli/shared.ts';
import { TrainDisplay } from '../../src/cli/terminal/train-display.ts';
import { gqProgram } from '../gq-command.ts';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-told-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const tiny = [`model=${await tinyModel()}`, 'data.problems=32', 'device.threads=1', 'output.checkpointEvery=1'];
const small = [...tiny, 'sampling.promptsPerStep=2', 'sampling.group=2', 'sampling.maxNewTokens=12'];
const sets = (settings: readonly string[]): string[] => settings.flatMap((each) => ['--set', each]);

const finished = join(home, 'finished');
let began: Awaited<ReturnType<typeof gq>>;
beforeAll(async () => {
  began = await gq('train', 'recipes/micro-activation.toml', ...sets([...small, 'updates=1']), '--out', finished);
});

describe('gq train', () => {
  it('says first where it writes and that it has begun', () => {
    expect(began.code).toBe(0);
    expect(began.err).toMatch(new RegExp(`^.*${finished}`));
  });

  it('names the default folder in its help', async () => {
    expect((await gq('train', '--help')).out).toContain('runs/ARM-SEED');
    expect((await gq('demo', '--help')).out).toContain('runs/demo-quick-SEED');
  });

  it('advises a command that a shell takes as it was meant', () => {
    let out = '';
    const stdout = { write: (text: string) => (out += text) };
    const again = sameCall({ words: ['train', '--out', "runs/with space/it's"] } as unknown as CommandContext);
    const display = new TrainDisplay({ stdout, stderr: stdout }, { path: 'runs/x', again, updates: 3 });
    display.event({ kind: 'stop', update: 2, reason: 'interrupted' } as never, {} as never);
    display.close('interrupted');
    expect(out).toContain(`go on with: gq train --out 'runs/with space/it'\\''s'`);
  });

  it('shows no empty list as a default in any help', async () => {
    for (const command of ['train', 'demo', 'config', 'experiment']) {
      const { out } = await gq(command, '--help');
      expect(out).not.toContain('default: []');
      expect(out).not.toMatch(/default: "\d/);
    }
  });
});

describe('damage', () => {
  it.each(['rollouts.parquet', 'verdicts.parquet'])(
    'names %s when it is empty, cut or of other bytes',
    async (name) => {
      for (const length of [0, 100]) {
        const run = join(home, `cut-${name}-${length}`);
        cpSync(finished, run, { recursive: true });
        truncateSync(join(run, name), length);
        const { code, err } = await gq('measure', 'traces', run);
        expect({ code, stack: err.includes('\n    at ') }).toEqual({ code: 2, stack: false });
        expect(err).toContain(name);
      }
      const run = join(home, `garbled-${name}`);
      cpSync(finished, run, { recursive: true });
      const bytes = readFileSync(join(run, name));
      writeFileSync(join(run, name), bytes.fill(0x5a, 4, bytes.length - 8));
      const { code, err } = await gq('measure', 'traces', run);
      expect({ code, stack: err.includes('\n    at ') }).toEqual({ code: 2, stack: false });
      expect(err).toContain(name);
    },
  );

  it('names a weight of a checkpoint that is not a number', async () => {
    const run = join(home, 'nan');
    cpSync(finished, run, { recursive: true });
    const last = readdirSync(join(run, 'checkpoints')).sort().at(-1) ?? '';
    const path = join(run, 'checkpoints', last, 'adapter.safetensors');
    const bytes = readFileSync(path);
    bytes.writeFloatLE(Number.NaN, bytes.length - 4);
    writeFileSync(path, bytes);
    const { code, err } = await gq('eval', run, '--limit', '1');
    expect({ code, stack: err.includes('\n    at ') }).toEqual({ code: 2, stack: false });
    expect(err).toContain('adapter.safetensors');
  });
});

describe('gq measure relearn', () => {
  it('checks --vanilla first, and names the keys that differ', async () => {
    const other = join(home, 'other-vanilla');
    await gq(
      'train',
      'recipes/micro-vanilla.toml',
      ...sets([...small, 'updates=1', 'sampling.group=3']),
      '--out',
      other,
    );
    const out = join(home, 'relearn');
    const { code, err } = await gq('measure', 'relearn', finished, '--vanilla', other, '--out', out);
    expect(code).toBe(2);
    expect(err).toContain('sampling.group');
    expect(existsSync(join(out, 'attack'))).toBe(false);
  });

  it('refuses a run that is not finished', async () => {
    const open = join(home, 'open');
    cpSync(finished, open, { recursive: true });
    for (const name of ['rollouts.parquet', 'verdicts.parquet', 'seal.json']) rmSync(join(open, name));
    const { code, err } = await gq('measure', 'relearn', open, '--out', join(home, 'relearn-open'));
    expect(code).toBe(2);
    expect(err).toContain('--resume');
  });
});

describe('a config that changed', () => {
  it('is told by its keys', async () => {
    const recipe = join(home, 'exp.toml');
    writeFileSync(
      recipe,
      `name = "mine"\nseeds = [1]\n[[arms]]\nname = "vanilla"\nrecipe = "${process.cwd()}/recipes/micro-vanilla.toml"\n`,
    );
    const directory = join(home, 'experiment');
    cpSync(finished, join(directory, 'vanilla-1'), { recursive: true });
    const { code, err } = await gq('experiment', recipe, '--out', directory);
    expect(code).toBe(2);
    expect(err).toContain('sampling.group');
    expect(err).not.toMatch(/[0-9a-f]{12}/);
  });
});

/** Runs gq in a process of its own; `act` gets the process when it has said something. */
function child(argv: readonly string[], act: (process: ReturnType<typeof spawn>) => void) {
  const started = spawn(process.execPath, [gqProgram(), ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
  const written = { out: '', err: '' };
  started.stderr?.on('data', (text) => (written.err += text));
  act(started);
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    started.stdout?.on('data', (text) => (written.out += text));
    started.on('close', (code) => resolve({ code, ...written }));
  });
}

describe('in a shell', () => {
  it('training goes on when nobody reads its output', async () => {
    const run = join(home, 'piped');
    const argv = ['train', 'recipes/micro-vanilla.toml', ...sets([...small, 'updates=4']), '--out', run];
    const { code, err } = await child(argv, (started) => started.stdout?.destroy());
    expect(code).toBe(0);
    expect(existsSync(join(run, 'checkpoints', '00004'))).toBe(true);
    expect(err).toContain('the work goes on');
  });

  it('Ctrl-C keeps what gq micro pretrain has learned', async () => {
    const folder = join(home, 'base');
    const { code, out, err } = await child(['micro', 'pretrain', '--to', folder, '--steps', '300'], (started) => {
      let isPressed = false;
      started.stderr?.on('data', (text) => {
        if (isPressed || !`${text}`.includes('pretrain step')) return;
        isPressed = started.kill('SIGINT');
      });
    });
    expect({ code, err }).toMatchObject({ code: 130, err: expect.stringContaining('interrupted') });
    expect(out).toMatch(/interrupted after \d+ of 300 steps/);
    expect(existsSync(join(folder, 'model.safetensors'))).toBe(true);
  });
});
