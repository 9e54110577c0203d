/** Bundles the pages: the viewer's into one script and one style sheet, the playground's beside it. Only a clone needs it: the package has the result. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { browserMap } from './browser-map.ts';

export async function buildPage(source: string, target: string): Promise<void> {
  const { build } = await import('esbuild');
  mkdirSync(target, { recursive: true });
  const outputs = { 'app.tsx': 'page', 'style.css': 'page', 'worker.ts': 'lane', 'isolate.ts': 'isolate' };
  const playground = Object.entries(outputs).map(([name, out]) => ({
    in: join(source, 'playground', name),
    out: join('playground', out),
  }));
  await build({
    entryPoints: [...['app.tsx', 'style.css'].map((name) => ({ in: join(source, name), out: 'app' })), ...playground],
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
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  });
}
