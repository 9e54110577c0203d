/** The API reference: a page for each entry of package.json, from the declarations that the compiler writes, and one of the types that they mention. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { byName, type Declaration, Declarations, headerOf } from './declarations.ts';
import { relative, type SitePage } from './library.ts';
import { codeBlock, escapeHtml, highlight, renderInline } from './markdown.ts';

interface Entry {
  /** What a program imports. */
  readonly name: string;
  readonly file: string;
  readonly path: string;
  readonly exported: readonly Declaration[];
  /** Types of the project that these mention and no entry exports. */
  readonly mentioned: readonly Declaration[];
}

/** Writes declarations into `target` as the package has them; what did not change since is not read again. */
export function emitDeclarations(root: string, target: string): void {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const how = ['--emitDeclarationOnly', '--sourceMap', 'false', '--outDir', target, '--singleThreaded'];
  const again = ['--incremental', '--tsBuildInfoFile', join(target, 'tsbuildinfo')];
  const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), ...how, ...again], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('site: the declarations do not compile: npm run types');
}

/** The page of each declaration, by its file and name. */
type Places = ReadonlyMap<string, string>;
type Exports = Readonly<Record<string, string | { readonly types: string }>>;

/** `folder` has the declarations, `sources` what they were made from. */
export function apiPages(packageName: string, exports: Exports, folder: string, sources: string): SitePage[] {
  const declarations = new Declarations((path) => readFileSync(join(folder, path), 'utf8'));
  const explain = (file: string): string => {
    const source = join(sources, file.replace(/\.d\.ts$/, '.ts'));
    return existsSync(source) ? renderInline(headerOf(readFileSync(source, 'utf8'))) : '';
  };
  const entries = readEntries(packageName, exports, declarations);
  const places = new Map<string, string>();
  for (const { path, mentioned } of entries.toReversed())
    for (const own of mentioned) places.set(keyOf(own), typesPath(path));
  for (const { path, exported } of entries.toReversed()) for (const own of exported) places.set(keyOf(own), path);
  const show: Show = (own, on) => {
    // A value without a comment of its own is explained by that of its file.
    const said = own.comment === '' && !own.isType ? explain(own.file) : renderInline(own.comment);
    return `${said === '' ? '' : `<p>${said}</p>\n`}${codeBlock(linkedText(own, on, declarations, places))}`;
  };
  const prose = (entry: Entry): string => `<p>${explain(entry.file)}</p>`;
  return [indexPage(entries, prose), ...entries.flatMap((entry) => entryPages(entry, prose(entry), show))];
}

const keyOf = ({ file, name }: Declaration): string => `${file} ${name}`;
/** Two names may differ in their first letter only, which addresses of some servers do not tell apart. */
const idOf = ({ name, isType }: Declaration): string => (isType ? `type-${name}` : name);
const typesPath = (path: string): string => path.replace('.html', '-types.html');

function readEntries(packageName: string, exports: Exports, declarations: Declarations): Entry[] {
  const read = Object.entries(exports).flatMap(([key, target]) => {
    if (typeof target === 'string') return [];
    const file = target.types.replace(/^\.\/dist\//, '');
    const name = key === '.' ? packageName : `${packageName}${key.slice(1)}`;
    const path = `api/${key === '.' ? 'main' : key.slice(2)}.html`;
    return [{ name, file, path, exported: declarations.exportsOf(file) }];
  });
  const taken = new Set(read.flatMap(({ exported }) => exported.map(keyOf)));
  return read.map((entry) => {
    const found = entry.exported.flatMap((own) => declarations.mentionedBy(own));
    const others = new Map(found.filter((own) => !taken.has(keyOf(own))).map((own) => [keyOf(own), own]));
    return { ...entry, mentioned: [...others.values()].sort(byName) };
  });
}

type Show = (own: Declaration, on: string) => string;

function entryPages({ name, path, exported, mentioned }: Entry, prose: string, show: Show): SitePage[] {
  const values = exported.filter(({ isType }) => !isType);
  const types = exported.filter(({ isType }) => isType);
  const some = values.length > 3 ? [...values.slice(0, 3).map((own) => own.name), '…'] : values.map((own) => own.name);
  const other = typesPath(path);
  const toOther = `<p><a href="${relative(path, other)}">Types that these mention</a> and no entry exports.</p>`;
  const toMain = `<a href="${relative(other, path)}"><code>${name}</code></a>`;
  const main = declarationPage(path, name, show, {
    intro: `${prose}\n${codeBlock(highlight(`import { ${some.join(', ')} } from '${name}';`, 'ts'))}`,
    lists: { 'Functions, classes and values': values, Types: types },
    end: mentioned.length === 0 ? '' : toOther,
  });
  if (mentioned.length === 0) return [main];
  const intro = `<p>What ${toMain} takes and returns without exporting its name: a program meets these types, and cannot import them.</p>`;
  return [main, declarationPage(other, `Types of ${name}`, show, { intro, lists: { '': mentioned }, end: '' })];
}

interface Content {
  readonly intro: string;
  /** Declarations by the title that stands above them. */
  readonly lists: Readonly<Record<string, readonly Declaration[]>>;
  readonly end: string;
}

function declarationPage(path: string, title: string, show: Show, { intro, lists, end }: Content): SitePage {
  const filled = Object.entries(lists).filter(([, list]) => list.length > 0);
  const body = filled.flatMap(([above, list]) => [
    above === '' ? '' : `<h2>${above}</h2>`,
    ...list.map((own) => `<h3 id="${idOf(own)}"><code>${escapeHtml(own.name)}</code></h3>\n${show(own, path)}`),
  ]);
  const headings = filled.flatMap(([, list]) => list.map((own) => ({ id: idOf(own), depth: 3, text: own.name })));
  return {
    ...{ path, title, place: 'api', source: null },
    html: [`<h1>${escapeHtml(title)}</h1>`, intro, ...body, end].join('\n'),
    headings: [{ id: '', depth: 1, text: title }, ...headings],
  };
}

/** The text of a declaration, in which the types that a page has are links. */
function linkedText(own: Declaration, on: string, declarations: Declarations, places: Places): string {
  const mentioned = declarations.mentionedBy(own).flatMap((other): [string, string][] => {
    const page = places.get(keyOf(other));
    return page === undefined ? [] : [[other.name, relative(on, `${page}#${idOf(other)}`)]];
  });
  const narrow = own.text.replace(/^(?: {4})+/gm, (indent) => indent.slice(indent.length / 2));
  return linkNames(highlight(narrow, 'ts'), new Map(mentioned));
}

/** Makes links of whole names in marked code; what stands in tags is left alone. */
function linkNames(html: string, targets: ReadonlyMap<string, string>): string {
  return html.replace(/<span class="hljs-(?:comment|string)">[\s\S]*?<\/span>|<[^>]*>|(?<![\w$])[A-Z]\w*/g, (word) => {
    const target = targets.get(word);
    return target === undefined ? word : `<a href="${target}">${word}</a>`;
  });
}

function indexPage(entries: readonly Entry[], prose: (entry: Entry) => string): SitePage {
  const path = 'api/index.html';
  const sections = entries.map((entry) => {
    const { name, path: target, exported } = entry;
    const names = exported.map((own) => `<a href="${relative(path, `${target}#${idOf(own)}`)}">${own.name}</a>`);
    const head = `<h2 id="${slug(name)}"><a href="${relative(path, target)}"><code>${name}</code></a></h2>`;
    return `${head}\n${prose(entry)}\n<p class="names">${names.join(' ')}</p>`;
  });
  const intro =
    'Made from the types. A name that no entry has may change without notice; the ones that are public are committed and compared by a test.';
  const html = `<h1>API</h1>\n<p>${intro}</p>\n${sections.join('\n')}`;
  const headings = ['API', ...entries.map(({ name }) => name)].map((text) => ({ id: slug(text), depth: 2, text }));
  return { path, title: 'API', html, headings, place: 'api', source: null };
}

const slug = (name: string): string => name.replaceAll('/', '-');
