/** Bundles the pages: the viewer's into one script and one style sheet, the playground's beside it. Only a clone needs it: the package has the result. */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildOptions, Plugin } from 'esbuild';
import { readRegularText } from '../base/node/index.ts';

export async function buildPage(source: string, target: string): Promise<void> {
  const { build } = await import('esbuild');
  mkdirSync(target, { recursive: true });
  const outputs = {
    'app.tsx': 'page',
    'style.css': 'page',
    'worker.ts': 'lane',
    'isolate.ts': 'isolate',
    'python.ts': 'python',
  };
  const playground = Object.entries(outputs).map(([name, out]) => ({
    in: join(source, 'playground', name),
    out: join('playground', out),
  }));
  const pages = ['app.tsx', 'style.css'].map((name) => ({ in: join(source, name), out: 'app' }));
  const options: BuildOptions = {
    plugins: [browserMap()],
    outdir: target,
    bundle: true,
    minify: true,
    // A classic script also runs from a file on disk, where modules are refused.
    format: 'iife',
    define: { 'import.meta.url': 'location.href' },
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // A browser holds a script in which one character needs two bytes at two bytes for each, several times for a worker.
    charset: 'ascii',
    legalComments: 'none',
    logLevel: 'warning',
  };
  const buffer = join(source, 'playground/buffer.ts');
  const grader = [{ in: join(source, 'playground/grade.ts'), out: 'playground/grade' }];
  await build({ ...options, entryPoints: grader, inject: [buffer], alias: { 'node:buffer': buffer } });
  // Last: by the age of app.js a clone knows that all is built.
  await build({ ...options, entryPoints: [...pages, ...playground] });
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const inSources = (path: string): string => join(root, path.replace('./dist/', 'src/').replace(/\.js$/, '.ts'));

/** The files of src that a browser has others for, or (null) none, as package.json (`browser`) says of the files of dist that are made from them. */
export function browserPlaces(): ReadonlyMap<string, string | null> {
  const { browser } = JSON.parse(readRegularText(join(root, 'package.json'))) as {
    browser: Record<string, string | false>;
  };
  return new Map(Object.entries(browser).map(([from, to]) => [inSources(from), to === false ? null : inSources(to)]));
}

/** How a bundle for a browser is made from the sources of a clone; a bundler that resolves the installed package reads its package.json itself. */
export function browserMap(): Plugin {
  const places = browserPlaces();
  return {
    name: 'browser-map',
    setup(build) {
      build.onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
        const file = resolve(resolveDir, path);
        const place = places.get(file);
        if (place === undefined) return undefined;
        return place === null ? { path: file, namespace: 'absent' } : { path: place };
      });
      // Zod's messages in other languages, which are more than half of a trainer that nobody reads them of.
      build.onResolve({ filter: /locales\/index\.js$/ }, ({ path, resolveDir }) =>
        resolveDir.includes('/zod/') ? { path: resolve(resolveDir, path), namespace: 'absent' } : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({ contents: 'module.exports = {};', loader: 'js' }));
    },
  };
}
