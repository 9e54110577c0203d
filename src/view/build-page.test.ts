/** The lab for browsers can be bundled without Node, and nothing is kept from it that is not asked for. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { browserMap, browserPlaces, buildPage } from './build-page.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the entry for browsers imports no module of Node, and needs every line of the list', async () => {
  const { metafile, errors, warnings } = await build({
    entryPoints: [fileURLToPath(new URL('../entry/browser.ts', import.meta.url))],
    ...{ bundle: true, format: 'esm', platform: 'browser', target: 'es2022', write: false, metafile: true },
    plugins: [browserMap()],
    logLevel: 'silent',
  });
  expect([...errors, ...warnings]).toEqual([]);
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  expect(imports.filter(({ path, external }) => external === true && path !== '<runtime>')).toEqual([]);
  expect(imports.filter(({ path }) => path.startsWith('node:'))).toEqual([]);
  const inputs = new Set(Object.keys(metafile.inputs).map((path) => path.replace('absent:', '')));
  const replaced = [...browserPlaces()].map(([from, to]) => to ?? from);
  const asked = (path: string): boolean => inputs.has(relative(process.cwd(), path)) || inputs.has(path);
  expect(replaced.filter((path) => !asked(path)).map((path) => relative(root, path))).toEqual([]);
});

test('leaves no page behind where a part cannot be built, so that the next call builds it again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'page-'));
  mkdirSync(join(folder, 'playground'));
  const sources = ['app.tsx', 'style.css', ...['app.tsx', 'style.css', 'worker.ts', 'isolate.ts', 'python.ts', 'buffer.ts', 'grade.ts'].map((name) => `playground/${name}`)]; // biome-ignore format: one line
  for (const name of sources) writeFileSync(join(folder, name), '');
  await buildPage(folder, join(folder, 'whole'));
  writeFileSync(join(folder, 'playground/grade.ts'), "import 'not-installed';");
  await expect(buildPage(folder, join(folder, 'broken'))).rejects.toThrow('not-installed');
  expect(['whole', 'broken'].map((name) => existsSync(join(folder, name, 'app.js')))).toEqual([true, false]);
  rmSync(folder, { recursive: true });
});
