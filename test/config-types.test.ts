/** Configs as programs write them: their types are made from the schema, and what the types allow is what the schema checks. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defineConfig, resolveConfig, train } from '../src/entry/index.ts';
import { configTypes } from './config-types.ts';
import { temporaryFolder } from './lab/hand-made.ts';

it('the types are those of the schema', async () => {
  await expect(configTypes()).toMatchFileSnapshot('../src/run/config/written.ts');
});

it('a wrong key, kind or value is an error of types, and of the check', async () => {
  // The errors stand at the key, and not at the call: each is expected on its own line.
  const wrong = [
    defineConfig({
      extends: 'micro-base',
      // @ts-expect-error: no such key
      lr: 1,
    }),
    defineConfig({
      extends: 'micro-base',
      arm: {
        // @ts-expect-error: no such kind of arm
        kind: 'penality',
        monitor: { kind: 'chance' },
      },
    }),
    defineConfig({
      extends: 'micro-base',
      arm: {
        kind: 'vanilla',
        // @ts-expect-error: a key of another kind
        penalty: 3,
      },
    }),
    defineConfig({
      extends: 'micro-base',
      monitor: { kind: 'chance' },
      remedy: {
        kind: 'penalty',
        // @ts-expect-error: no such key of a remedy
        sixe: 3,
      },
    }),
    defineConfig({
      extends: 'micro-base',
      environment: {
        // @ts-expect-error: no such loophole
        loopholes: ['run_test'],
      },
    }),
    defineConfig({
      extends: 'micro-base',
      // @ts-expect-error: text in place of a number
      updates: 'many',
    }),
    defineConfig({
      plugins: ['examples/own-gate.js'],
      extends: 'micro-base',
      // @ts-expect-error: with plugins, the tables that are not theirs are as strict
      updates: 'many',
    }),
  ];
  for (const one of wrong) await expect(resolveConfig(one)).rejects.toThrow(/expected/);
});

it('a config is what the same recipe and settings are, and is frozen', async () => {
  const written = defineConfig({
    extends: 'micro-base',
    ...{ seed: 3, updates: 2 },
    monitor: { kind: 'chance', rate: 0.2 },
    remedy: { kind: 'penalty', penalty: 3 },
  });
  const set = [
    'seed=3',
    'updates=2',
    'monitor.kind=chance',
    'monitor.rate=0.2',
    'remedy.kind=penalty',
    'remedy.penalty=3',
  ];
  const { config, hash } = await resolveConfig(written);
  expect(hash).toBe((await resolveConfig('micro-base', set)).hash);
  for (const one of [written, written.monitor, config, config.sampling]) expect(Object.isFrozen(one)).toBe(true);
  expect((await resolveConfig(written, ['seed=4'])).config.seed).toBe(4);
});

it('train() checks it before it makes a folder', async () => {
  const folder = join(temporaryFolder(), 'run');
  await expect(train({ extends: 'micro-base', updates: -1 }, folder)).rejects.toThrow('key updates');
  await expect(train({ extends: 'micro-bas' }, folder)).rejects.toThrow('Did you mean micro-base?');
});
