import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/lab/hand-made.ts';
import { folderAdvice, listRecipes, recipeFrom, recipeName, recipePath } from './recipes.ts';

describe('a recipe of the package', () => {
  it('goes by its bare name, a number with a point in it too', () => {
    const names = listRecipes().map(({ name }) => name);
    expect(names).toContain('easy-qwen3-0.6b');
    for (const name of names) expect(recipePath(name)).toBe(resolve(`recipes/${name}.toml`));
  });

  it('is not meant where a file has that path', () => {
    const path = join(temporaryFolder(), 'micro-vanilla.toml');
    writeFileSync(path, '');
    expect(recipePath(path)).toBe(path);
  });

  it('is meant where only a folder has its name', () => {
    const base = temporaryFolder();
    mkdirSync(join(base, 'micro-vanilla'));
    expect(recipeFrom(base, 'micro-vanilla')).toBe(resolve('recipes/micro-vanilla.toml'));
    expect(recipeFrom(base, 'mine.toml')).toBe(join(base, 'mine.toml'));
  });

  it.each([
    ['micro-vanila', /found micro-vanila\. Did you mean micro-vanilla\?/],
    [
      'elsewhere/micro-vanilla.toml',
      /read recipe elsewhere\/micro-vanilla\.toml: .*no such file\. .* by its bare name: micro-vanilla/,
    ],
  ])('is suggested for %s', (name, message) => {
    expect(() => recipePath(name)).toThrow(message);
  });

  it('is told by its bare name, another by its path from the working folder', () => {
    expect(recipeName(resolve('recipes/micro-vanilla.toml'))).toBe('micro-vanilla');
    expect(recipeName(resolve('elsewhere/micro-vanilla.toml'))).toBe('elsewhere/micro-vanilla.toml');
  });

  it('or a folder of runs that is not there is suggested by the one beside it of almost that name', () => {
    const base = temporaryFolder();
    for (const name of ['surplus', 'other']) mkdirSync(join(base, name));
    writeFileSync(join(base, 'surplsu.txt'), '');
    expect(folderAdvice(join(base, 'surplsu'))).toBe(`Did you mean ${join(base, 'surplus')}?`);
    expect(folderAdvice(join(base, 'other'))).toBeUndefined();
    for (const name of ['elsewhere', 'gone/surplus'])
      expect(folderAdvice(join(base, name))).toBe('Make one with: gq demo --quick');
    expect(folderAdvice(join(base, 'micro-claim'))).toContain('It is a recipe');
  });

  it('that nobody has is a path like any other', () => {
    expect(recipePath('elsewhere/mine.toml')).toBe(resolve('elsewhere/mine.toml'));
  });
});
