import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { temporaryFolder } from '../../../test/lab/hand-made.ts';
import { namesPath } from '../../base/index.ts';
import { builtinParts } from '../../lab/index.ts';
import { checkConfig, readConfig } from './config.ts';
import { outlineConfig } from './outline.ts';

it('a path begins in the folder of the recipe that says it, also in a key of a plugin; a name is no path', () => {
  const settings = z.strictObject({
    table: z.string().describe('a file').meta(namesPath()),
    word: z.string().default('').describe('no file'),
    set: z
      .string()
      .describe('a file or a name')
      .meta(namesPath({ unless: /^own$/ })),
  });
  const arm = { kind: 'own', summary: 'an arm of a plugin', settings, quarantine: () => false };
  const parts = { ...builtinParts, arms: [...builtinParts.arms, arm] };
  const home = temporaryFolder();
  const written = join(home, 'paths.toml');
  writeFileSync(written, '[arm]\nkind = "own"\ntable = "a/rates.csv"\nset = "own"\nword = "b"\n');
  const resolved = (...set: string[]) => checkConfig(readConfig(written, set), parts).config.arm;
  expect(resolved()).toEqual({ kind: 'own', table: join(home, 'a/rates.csv'), word: 'b', set: 'own' });
  expect(resolved('arm.set=other')).toMatchObject({ set: join(process.cwd(), 'other') });
  const outlined = outlineConfig(readConfig(written), parts).keys.find(({ path }) => path === 'arm.table');
  expect(outlined?.value).toBe(join(home, 'a/rates.csv'));
});
