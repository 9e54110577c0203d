/** What the library's train() makes of configs: those that were checked are frozen, all others are checked at the door. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tinyModel, tinySettings } from '../../test/smoke/lab.ts';
import { UserError } from '../base/index.ts';
import type { RunConfig } from '../run/index.ts';
import { resolveBuiltin, resolveConfig, train } from './index.ts';

let home: string;
let settings: string[];
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'gq-config-'));
  settings = [`model=${await tinyModel()}`, 'updates=1', ...tinySettings];
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A copy of a config that nothing has frozen or checked. */
const copyOf = (config: RunConfig): Record<string, unknown> => JSON.parse(JSON.stringify(config));

describe('a config', () => {
  it('is frozen once it is checked, tables and lists too', async () => {
    const { config } = await resolveConfig(null, settings);
    for (const value of [config, config.sampling, config.arm, config.environment.loopholes]) {
      expect(Object.isFrozen(value)).toBe(true);
    }
    expect(() => Object.assign(config, { updates: -1 })).toThrow(TypeError);
    expect(config.updates).toBe(1);
  });

  it.each([
    ['updates of -1', { updates: -1 }, 'config, key updates: expected a whole number from 1 to 10000000, found -1'],
    ['a key that does not exist', { updatse: 3 }, 'unknown key updatse, did you mean updates?'],
    ['keys that contradict each other', { safety: { healSteps: 3 } }, 'config, key safety.healSteps: expected 0'],
  ])('%s is refused by train(), which writes nothing', async (name, change, message) => {
    const path = join(home, name.replaceAll(' ', '-'));
    const config = { ...copyOf(resolveBuiltin(null, settings).config), ...change } as unknown as RunConfig;
    await expect(train(config, path)).rejects.toThrow(message);
    expect(existsSync(join(path, 'manifest.json'))).toBe(false);
  });

  it.each([
    ['the name of a recipe', 'micro-vanilla', 'expected a table of keys, found "micro-vanilla"'],
    ['nothing', undefined, 'expected a table of keys, found nothing'],
    ['null', null, 'expected a table of keys, found null'],
    ['a list', [], 'expected a table of keys, found []'],
  ])('%s is refused by train(), which does not train the usual config instead', async (name, config, message) => {
    const path = join(home, name.replaceAll(' ', '-'));
    await expect(train(config as unknown as RunConfig, path)).rejects.toThrow(message);
    expect(existsSync(join(path, 'manifest.json'))).toBe(false);
  });

  it.each([
    ['a bigint', 5n, 'config, key seed: expected a whole number of at least 0, found 5n'],
    ['a function', () => 5, 'config, key seed: expected a whole number of at least 0, found () => 5'],
  ])('a seed that is %s is refused in words', async (_, seed, message) => {
    const config = { ...copyOf(resolveBuiltin(null, settings).config), seed } as unknown as RunConfig;
    const refused = train(config, join(home, 'seed'));
    await expect(refused).rejects.toThrow(UserError);
    await expect(refused).rejects.toThrow(message);
    await expect(train(5n as unknown as RunConfig, join(home, 'seed'))).rejects.toThrow(
      'expected a table of keys, found 5n',
    );
  });

  it.each([
    ['missing', undefined, 'nothing'],
    ['a number', 7, '7'],
    ['empty', '', '""'],
  ])('a path that is %s is refused in words', async (_, path, found) => {
    const { config } = resolveBuiltin(null, settings);
    const refused = train(config, path as unknown as string);
    await expect(refused).rejects.toThrow(UserError);
    await expect(refused).rejects.toThrow(`train(): expected the path of a folder for the run, found ${found}`);
  });

  it('what is no config is refused where a run was begun too', async () => {
    const path = join(home, 'begun');
    const { config } = await resolveConfig(null, settings);
    await train(config, path);
    for (const [given, found] of [
      [undefined, 'nothing'],
      [5n, '5n'],
      ['micro-vanilla', '"micro-vanilla"'],
    ] as const) {
      const refused = train(given as unknown as RunConfig, path);
      await expect(refused).rejects.toThrow(UserError);
      await expect(refused).rejects.toThrow(`config: expected a table of keys, found ${found}`);
    }
    const changed = { ...copyOf(config), seed: 5n } as unknown as RunConfig;
    await expect(train(changed, path)).rejects.toThrow('config, key seed: expected a whole number');
    expect((await train(config, path)).end).toBe('finished');
  });
});
