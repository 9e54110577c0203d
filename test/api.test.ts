/**
 * The public interface: the names that each entry of package.json's `exports` offers, as committed in api.txt. A changed line there
 * is a changed interface. After an intended change, run npx vitest run test/api.test.ts -u and add a line to the changelog.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readManifest, readText, root } from './architecture/files.ts';
import { readExports } from './architecture/modules.ts';

const entries = Object.entries(readManifest().exports)
  .filter(([key]) => key !== './package.json')
  .map(([key, target]) => {
    const built = typeof target === 'string' ? target : target.default;
    return { key, source: built.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts') };
  });

describe('package entries', () => {
  it('have a source file each', () => {
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.filter(({ source }) => !existsSync(join(root, source)))).toEqual([]);
  });

  it('export the committed names', async () => {
    const pages = entries.map(({ key, source }) => [key, ...readExports(source, readText).map((name) => `  ${name}`)]);
    await expect(`${pages.flat().join('\n')}\n`).toMatchFileSnapshot('api.txt');
  });

  it('are read with their types, patterns and re-exports', () => {
    const sources: Record<string, string> = {
      'a.ts': `export * from './b.ts'; export * as all from './b.ts'; export type { T as U } from './b.ts';`,
      'b.ts': `export const { x, y: [z] } = f(); export interface T {} export function f() {} class C {} export { C, C as D };`,
    };
    expect(readExports('a.ts', (path) => sources[path])).toEqual(['C', 'D', 'all', 'f', 'type T', 'type U', 'x', 'z']);
  });
});
