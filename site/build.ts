/**
 * `npm run site [-- --to FOLDER] [--runs FOLDER]`: the documents as a folder of pages that opens without a server, with the API reference, the
 * viewer on a study (`--runs`; without it the one that the tests keep) and the playground. Every link is checked; exits 1 when one is wrong.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openPage, writeBundle } from '../src/view/index.ts';
import { writePlayground } from '../src/view/playground.ts';
import { listFiles } from '../test/architecture/files.ts';
import { unpackStudy } from '../test/golden-study/study.ts';
import { apiPages, emitDeclarations } from './api.ts';
import { framePage } from './layout.ts';
import { Library, type SitePage } from './library.ts';
import { checkLinks } from './links.ts';
import { missingPages, navigation } from './navigation.ts';
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

function makePages(): { pages: SitePage[]; copies: ReadonlySet<string>; frame: Parameters<typeof framePage>[1] } {
  const files = listFiles();
  const groups = navigation(files.filter((path) => path.startsWith('docs/adr/')));
  const missing = missingPages(groups, files);
  if (missing.length > 0) throw new Error(`site: not in site/navigation.ts: ${missing.join(', ')}`);
  const divided = groups.flatMap(({ pages }) => pages.filter((place) => place.divided).map(({ path }) => path));
  const library = new Library(root, new Set(divided), new Set(apps.values()));
  const chapters = groups.map(({ title, pages }) => ({
    title,
    entries: pages.map(({ path, name }) => ({
      place: path,
      name: name ?? library.titleOf(path),
      path: path === 'api' ? 'api/index.html' : library.address(path),
      sections: path.endsWith('.md') ? library.sections(path) : [],
    })),
  }));
  library.finish();
  const pages = [
    ...library.pages.values(),
    ...apiPages(manifest.name, manifest.exports, declarations, join(root, 'src')),
  ];
  return { pages, copies: library.copies, frame: { chapters, version: manifest.version } };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  writeFileSync(join(target, path), text);
}

async function writeApps(): Promise<void> {
  const runs = values.runs ?? mkdtempSync(join(tmpdir(), 'site-study-'));
  if (values.runs === undefined) unpackStudy(runs);
  const { leftOut } = await writeBundle(runs, join(target, 'demo'), await openPage());
  if (values.runs === undefined) rmSync(runs, { recursive: true });
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
write('search.js', read('search.js'));
for (const path of copies) {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  copyFileSync(join(root, path), join(target, path));
}
await writeApps();
const report = checkLinks(target, large, new Set(apps.keys()));
for (const fault of report.faults) console.error(fault);
console.log(`${target}/index.html: ${report.pages} pages, ${report.links} links, ${report.faults.length} faults`);
process.exitCode = report.faults.length === 0 ? 0 : 1;
