/** Bundles the page into one script and one style sheet. Only a clone needs it: the package has the result. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

export async function buildPage(source: string, target: string): Promise<void> {
  const { build } = await import('esbuild');
  mkdirSync(target, { recursive: true });
  await build({
    entryPoints: ['app.tsx', 'style.css'].map((name) => ({ in: join(source, name), out: 'app' })),
    outdir: target,
    bundle: true,
    minify: true,
    // A classic script also runs from a file on disk, where modules are refused.
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  });
}
