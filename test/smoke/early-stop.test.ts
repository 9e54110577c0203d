/**
 * A run that ends early by its rule on the tiny lab: it is a finished run of fewer updates, whose last checkpoint has the values of the best check;
 * flipped verdicts, a break in the middle and others in one pack change no byte of it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RunPack, train } from '../../src/lab/index.ts';
import { FlippedLedger } from '../../src/oracle/flipped.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { trainedStatus } from '../../src/run/read.ts';
import { Lab } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open('plain');
});
afterAll(() => lab[Symbol.asyncDispose]());

/** No rise counts, so the first check stays the best: training ends with the first later one at which its own reward is higher. */
const early = ['arm.kind=early-stop', 'arm.every=1', 'arm.patience=1', 'arm.leastRise=100', 'arm.prompts=6'];
const short = ['updates=12', 'device.variant=plain', 'output.checkpointEvery=1', 'output.keepState=all'];

const bytesOf = (run: RunDirectory) =>
  Object.fromEntries(
    run.listCheckpoints().flatMap((update) =>
      ['adapter.safetensors', 'state.json'].map((name) => {
        const data = readFileSync(join(run.checkpoint(update), name));
        return [`${update} ${name}`, data.toString('base64')];
      }),
    ),
  );

it('ends early as a finished run, with the same bytes in two lives, with flipped verdicts and in a pack', async () => {
  const { run, end, events, steps } = await lab.train([...short, ...early]);
  const stop = events.at(-1);
  expect(end).toBe('finished');
  const [{ meanReward: first }, ...others] = steps;
  const last = others.findIndex(({ meanReward }) => meanReward > first) + 2;
  expect(last).toBeGreaterThan(2);
  expect(last).toBeLessThan(12);
  expect({ steps: steps.length, checkpoint: run.listCheckpoints().at(-1) }).toEqual({ steps: last, checkpoint: last });
  expect(stop).toMatchObject({ kind: 'stop', reason: 'finished', update: last });
  expect(stop?.kind === 'stop' ? stop.detail : '').toMatch(
    new RegExp(`^${last} updates of 12: held-out reward .* after ${last} updates, best .* after 1, to which`),
  );
  const whole = bytesOf(run);
  expect(whole[`${last} adapter.safetensors`]).toBe(whole['1 adapter.safetensors']);
  expect(whole[`${last - 1} adapter.safetensors`]).not.toBe(whole['1 adapter.safetensors']);
  const flipped = await lab.train([...short, ...early], { ledger: FlippedLedger, breakAfter: 2 });
  const adapters = (own: Record<string, string>) => Object.entries(own).filter(([name]) => name.includes('adapter'));
  expect(adapters(bytesOf(flipped.run))).toEqual(adapters(whole));
  await using pack = new RunPack({ joint: true });
  const [packed] = await Promise.all(
    [early, ['arm.kind=vanilla']].map(async (arm, i) => {
      using place = pack.join();
      const path = lab.path(`packed-${i}`);
      await train(lab.config([...short, 'device.arenaMiB=512', ...arm]), path, { place });
      return RunDirectory.open(path);
    }),
  );
  expect(adapters(bytesOf(packed))).toEqual(adapters(whole));
  expect(await trainedStatus(packed.path)).toBe('finished');
});
