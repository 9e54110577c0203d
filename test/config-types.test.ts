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
  const wrong = [
    // @ts-expect-error: no such key
    defineConfig({ extends: 'micro-base', lr: 1 }),
    // @ts-expect-error: no such kind of arm
    defineConfig({ extends: 'micro-base', arm: { kind: 'penality', monitor: { kind: 'chance' } } }),
    // @ts-expect-error: a key of another kind
    defineConfig({ extends: 'micro-base', arm: { kind: 'vanilla', penalty: 3 } }),
    // @ts-expect-error: no such loophole
    defineConfig({ extends: 'micro-base', environment: { loopholes: ['run_test'] } }),
    // @ts-expect-error: text in place of a number
    defineConfig({ extends: 'micro-base', updates: 'many' }),
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
