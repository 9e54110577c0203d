/** A hash of the package's own code, so that processes on several machines can see that they run the same. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Covers every file that is run: those two folders up from this one, in src or in dist, except tests and declarations. */
export function hashCode(): string {
  const root = new URL('../../', import.meta.url);
  const names = readdirSync(fileURLToPath(root), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|js|wasm|py|cu)$/.test(name) && !/\.(?:test|d)\.ts$/.test(name))
    .sort();
  const hash = createHash('sha256');
  for (const name of names)
    hash
      .update(name)
      .update('\0')
      .update(readFileSync(new URL(name, root)));
  return hash.digest('hex');
}
