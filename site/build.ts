/**
 * `npm run site [-- --to FOLDER] [--runs FOLDER]`: the documents as a folder of pages that opens without a server, with the API reference, the
 * viewer on a study (`--runs`; without it a stored demo) and the playground. Every link is checked; exits 1 when one is wrong.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openPage, writeBundle } from '../src/view/index.ts';
import { writePlayground } from '../src/view/playground.ts';
import { listFiles } from '../test/architecture/files.ts';
import { apiPages, emitDeclarations } from './api.ts';
import { unpackDemo } from './demo.ts';
import { type Frame, framePage } from './layout.ts';
import type { SitePage } from './library.ts';
import { checkLinks } from './links.ts';
import { readPages } from './pages.ts';
import { searchIndex } from './search-index.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { to: { type: 'string' }, runs: { type: 'string' } } });
const target = values.to ?? join(root, '.build/site');
const declarations = join(root, '.build/declarations');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const apps = new Map([
  ['demo', 'demo/view.html'],
  ['playground', 'playground/index.html'],
]);
/** Pages that may be large: where a name is looked up, one page is searched faster than twenty; and the steps of an update, which are one list. */
const large = new Set(['docs/config.html', 'api/main.html', 'api/main-types.html', 'docs/science/6-one-update.html']);

function makePages(): { pages: SitePage[]; copies: ReadonlySet<string>; frame: Frame } {
  const { chapters, pages, copies } = readPages(root, listFiles(), new Set(apps.values()));
  const api = apiPages(manifest.name, manifest.exports, declarations, join(root, 'src'));
  return { pages: [...pages, ...api], copies, frame: { chapters, version: manifest.version } };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  writeFileSync(join(target, path), text);
}

async function writeApps(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'site-'));
  const { leftOut } = await writeBundle(values.runs ?? unpackDemo(scratch), join(target, 'demo'), await openPage());
  rmSync(scratch, { recursive: true });
  if (leftOut.length > 0) throw new Error(`site: the viewer left out ${leftOut[0].page}: ${leftOut[0].why}`);
  await writePlayground(join(target, 'playground'), 100);
}

rmSync(target, { recursive: true, force: true });
emitDeclarations(root, declarations);
const { pages, copies, frame } = makePages();
for (const page of pages) write(page.path, framePage(page, frame));
write('search-index.js', searchIndex(pages));
const read = (name: string): string => readFileSync(join(root, 'site', name), 'utf8');
write('style.css', read('style.css') + read('frame.css'));
write('search.js', read('find.js') + read('search.js'));
for (const path of copies) {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  copyFileSync(join(root, path), join(target, path));
}
await writeApps();
const report = checkLinks(target, large, new Set(apps.keys()));
for (const fault of report.faults) console.error(fault);
console.log(`${target}/index.html: ${report.pages} pages, ${report.links} links, ${report.faults.length} faults`);
process.exitCode = report.faults.length === 0 ? 0 : 1;
