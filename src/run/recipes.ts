/** The recipes of the package. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nearestName, UserError } from '../base/index.ts';

const folder = fileURLToPath(new URL('../../recipes', import.meta.url));

/** The path of a shipped recipe, such as `micro-activation`. */
export function shippedRecipe(name: string): string {
  const path = join(folder, `${name}.toml`);
  if (existsSync(path)) return path;
  const names = readdirSync(folder).map((file) => file.replace(/\.toml$/, ''));
  const nearest = nearestName(name, names);
  throw new UserError({
    call: 'shipped recipe',
    expected: names.join(', '),
    found: name,
    ...(nearest === undefined ? {} : { fix: `Did you mean ${nearest}?` }),
  });
}

/** The path of a recipe that a call names: a file, or by its bare name a shipped one. */
export function recipePath(recipe: string): string {
  if (existsSync(recipe)) return resolve(recipe);
  if (/^[\w-]+$/.test(recipe)) return shippedRecipe(recipe);
  const name = basename(recipe, '.toml');
  if (!existsSync(join(folder, `${name}.toml`))) return resolve(recipe);
  throw new UserError({
    call: `read recipe ${recipe}`,
    expected: 'a readable file',
    found: 'no such file',
    fix: `The recipe of the package goes by its bare name: ${name}`,
  });
}
