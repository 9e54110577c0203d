/**
 * How a bundle for a browser is made from the sources of a clone: package.json (`browser`) says which files of dist have others in their
 * place, or none, and the same holds for the files of src that they are made from. A bundler that resolves the installed package reads it itself.
 */
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';
import { readRegularText } from '../base/node/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const inSources = (path: string): string => join(root, path.replace('./dist/', 'src/').replace(/\.js$/, '.ts'));

/** The files of src that a browser has others for, or (null) none. */
export function browserPlaces(): ReadonlyMap<string, string | null> {
  const { browser } = JSON.parse(readRegularText(join(root, 'package.json'))) as {
    browser: Record<string, string | false>;
  };
  return new Map(Object.entries(browser).map(([from, to]) => [inSources(from), to === false ? null : inSources(to)]));
}

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
      build.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({ contents: 'module.exports = {};', loader: 'js' }));
    },
  };
}
