/** The recipes of the package. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
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
