/**
 * Packs through the real command: killed at random moments and begun again, interrupted, and with a run that diverges. Every run must end
 * with the bytes of an experiment whose runs went one after another.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { randomStream } from '../../src/base/rng.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { gq } from '../run-gq.ts';
import {
  diverging,
  gqProcess,
  lastCheckpoints,
  liveUntil,
  packedArms,
  packSettings,
  printsOf,
  writePackRecipe,
} from './packs.ts';

const home = temporaryFolder();
const recipe = join(home, 'three.toml');
const updates = 4;
const settings = await packSettings(updates);

const commandOf = (from: string, out: string, ...pack: readonly string[]): string[] => [
  ...['experiment', from, '--out', out, ...pack, ...settings],
];

const whole = join(home, 'whole');
beforeAll(async () => {
  writePackRecipe(recipe);
  expect(await gq(...commandOf(recipe, whole))).toMatchObject({ code: 0 });
});

async function expectSame(out: string, names = packedArms): Promise<void> {
  expect(await printsOf(out, names)).toEqual(await printsOf(whole, names));
}

describe('a pack', () => {
  it('leaves the bytes of runs one after another, tells one line for all, and goes on where it was interrupted', async () => {
    const out = join(home, 'together');
    let left = true;
    const written = { out: '', err: '' };
    const { runCli } = await import('../../src/cli/program.ts');
    const code = await runCli(commandOf(recipe, out, '--pack', '3'), {
      stdout: { write: (text) => (written.out += text) },
      stderr: {
        write: (text) => {
          written.err += text;
          if (left && written.err.includes(`pack: 5 of ${3 * updates} updates`)) {
            left = false;
            setImmediate(() => process.emit('SIGINT'));
          }
          return true;
        },
      },
    });
    expect(code).toBe(75);
    expect(written.err).toContain('3 runs, 0 of them trained; 3 at a time, packed');
    expect(written.err).toContain('interrupted: saving every run of the pack');
    expect(written.out).toContain('--pack 3');
    const again = await gq(...commandOf(recipe, out, '--pack', 'auto'));
    expect(again).toMatchObject({ code: 0 });
    expect(again.err).toContain(`pack: ${3 * updates} of ${3 * updates} updates, 3 of 3 runs evaluated`);
    await expectSame(out);
  });

  /** Sends the signal once six updates of the pack are told. */
  async function sendTo(out: string, signal: NodeJS.Signals) {
    let isSent = false;
    return gqProcess(commandOf(recipe, out, '--pack', '3'), (said, end) => {
      if (isSent || !/pack: (?:[6-9]|\d\d) of \d+ updates/.test(said)) return;
      isSent = true;
      end(signal);
    });
  }

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('that gets %s saves every run, each goes on', async (signal) => {
    let out = join(home, `${signal}-0`);
    let { code, err } = await sendTo(out, signal);
    // On a busy machine the pack may be done before it hears of the signal: then it is tried in another folder.
    for (let life = 1; code === 0; life++) {
      out = join(home, `${signal}-${life}`);
      ({ code, err } = await sendTo(out, signal));
    }
    expect({ code, err }).toEqual({ code: 75, err: expect.stringContaining('saving every run of the pack') });
    // All that was told is saved, between regular checkpoints too, and no run is locked.
    expect(lastCheckpoints(out).reduce((sum, update) => sum + update, 0)).toBeGreaterThanOrEqual(6);
    for (const name of packedArms) expect(existsSync(join(out, `${name}-1`, 'lock.json'))).toBe(false);
    expect(await gq(...commandOf(recipe, out, '--pack', '3'))).toMatchObject({ code: 0 });
    await expectSame(out);
  });

  it('that is killed at random moments goes on with every run to the same bytes', async () => {
    const stream = randomStream(8, 'kills of a pack');
    let [life, kills, out] = [0, 0, ''];
    while (kills < 2) {
      // A pack that came to its end before it was killed twice is begun anew, in another folder.
      if (kills === 0 || Math.min(...lastCheckpoints(out)) === updates)
        [kills, out] = [0, join(home, `killed-${life}`)];
      const told = 1 + Math.floor(stream.uniformAt(2 * life) * 5);
      if (await liveUntil(commandOf(recipe, out, '--pack', '3'), told, stream.uniformAt(2 * life + 1) * 50)) kills++;
      life++;
    }
    expect(await gq(...commandOf(recipe, out, '--pack', '3'))).toMatchObject({ code: 0 });
    await expectSame(out);
  });

  it('goes on without a run that diverges, which is named', async () => {
    const [out, own] = [join(home, 'diverged'), join(home, 'diverging.toml')];
    writePackRecipe(own, { activation: diverging });
    const { code, err } = await gq(...commandOf(own, out, '--pack', '3'));
    expect(code).toBe(1);
    expect(err).toMatch(/activation-1 failed: .*Training has diverged/);
    await expectSame(out, ['vanilla', 'gradient']);
  });

  it('beside another one: every run is in one of them, and one that diverges there is named once and holds up no other', async () => {
    const [out, own] = [join(home, 'both'), join(home, 'diverging-again.toml')];
    writePackRecipe(own, { vanilla: diverging });
    const { code, err } = await gqProcess(commandOf(own, out, '--pack', '2', '--jobs', '2'));
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('3 at a time, packed') });
    expect(err.match(/8 of 12 updates, 2 of 3 runs evaluated/g)).toHaveLength(1);
    expect(err).toContain('left in total');
    // Once while it goes on, once at the end.
    expect(err.match(/vanilla-1 failed/g)).toHaveLength(2);
    expect(err.match(/-1 failed/g)).toHaveLength(2);
    await expectSame(out, ['activation', 'gradient']);
  });

  it('is what a task of a cluster does', async () => {
    const out = join(home, 'task');
    const dry = await gq(...commandOf(recipe, out, '--on', 'slurm', '--dry-run', '--pack', '2'));
    expect(dry).toMatchObject({ code: 0 });
    const script = readFileSync(join(out, '.jobs', 'slurm.sh'), 'utf8');
    expect(script).toContain('#SBATCH --array=0,2\n');
    const plan = readdirSync(join(out, '.jobs')).find((name) => /^plan-.*\.json$/.test(name)) ?? '';
    for (const first of ['0', '2']) {
      const { code, out: log } = await gq('task', '--pack', '2', join(out, '.jobs', plan), first);
      expect({ code, log }).toMatchObject({ code: 0, log: expect.stringMatching(/-1: finished\n/) });
    }
    await expectSame(out);
  });
});
