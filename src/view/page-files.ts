/** The page's script and style, built in a clone when older than their sources, and the HTML around them. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError } from '../base/index.ts';
import { readRegularText } from '../base/node/index.ts';
import type { PageHome } from './api.ts';
import { contentPolicy } from './safety.ts';

/** Beside this file in the package. */
const shipped = fileURLToPath(new URL('./page', import.meta.url));
/** Outside the sources in a clone. */
const built = fileURLToPath(new URL('../../.build/view', import.meta.url));

export async function openPage(): Promise<PageFiles> {
  return readPage(await pageFolder());
}

/** The folder of the built pages. */
export async function pageFolder(): Promise<string> {
  if (existsSync(join(shipped, 'app.js'))) return shipped;
  if (!existsSync(join(shipped, 'app.tsx'))) {
    const found = 'none in the package';
    throw new UserError({ call: 'view', expected: 'the built page', found, fix: 'Install the package again.' });
  }
  if (!isCurrent()) {
    const { buildPage } = await import('./build-page.ts');
    await buildPage(shipped, built);
  }
  return built;
}

export type PageFiles = ReturnType<typeof readPage>;

function readPage(folder: string) {
  return { script: readRegularText(join(folder, 'app.js')), style: readRegularText(join(folder, 'app.css')) };
}

function isCurrent(): boolean {
  const made = statSync(join(built, 'app.js'), { throwIfNoEntry: false });
  if (made === undefined) return false;
  // The playground's worker has the trainer in it.
  const sources = fileURLToPath(new URL('..', import.meta.url));
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).map((name) => join(sources, name));
  return files.every((file) => statSync(file).mtimeMs <= made.mtimeMs);
}

export function pageHtml(home: Exclude<PageHome, 'file'>): string {
  const links = '<link rel="stylesheet" href="app.css"><script defer src="app.js"></script>';
  return wrapPage(home, `<meta http-equiv="Content-Security-Policy" content="${contentPolicy()}">${links}`, '');
}

/** The page as one file: its script and style are allowed by their hashes, its data is a block that no browser runs. */
export function wholePage({ script, style }: PageFiles, data: string): string {
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  // The only text that could end a script element early.
  const safe = script.replaceAll('</script', '<\\/script');
  const policy = contentPolicy(hash(safe), hash(style)).replace("connect-src 'self'", "connect-src 'none'");
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}"><style>${style}</style>`;
  const block = `<script id="gq-data" type="application/octet-stream">${data}</script>`;
  return wrapPage('file', head, `${block}<script>${safe}</script>`);
}

function wrapPage(home: PageHome, head: string, tail: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="generator" content="gradient-quarantine"><meta name="color-scheme" content="light dark"><meta name="gq-home" content="${home}">
<link rel="icon" href="data:,">
${head}<title>gq view</title></head><body><div id="app"></div>${tail}</body></html>
`;
}
