/** The parts of the site that a wrong page could slip through: its links, its navigation, divided pages, and the reader of declarations. */
import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { apiPages } from '../site/api.ts';
import { Declarations, headerOf } from '../site/declarations.ts';
import { demoArchive, demoPage, madeOf, unpackDemo } from '../site/demo.ts';
import { Library, relative } from '../site/library.ts';
import { checkLinks } from '../site/links.ts';
import { readParts } from '../site/markdown.ts';
import { missingPages, navigation } from '../site/navigation.ts';
import { readPages } from '../site/pages.ts';
import { searchIndex } from '../site/search-index.ts';
import { describeResults } from '../src/report/index.ts';
import { openResults } from '../src/study/claim-progress.ts';
import { listFiles, root } from './architecture/files.ts';

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'site-test-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

describe('links of a built site', () => {
  const faultsOf = (html: string): readonly string[] => {
    const other = '<h2 id="there">There</h2>';
    const folder = folderOf({ 'docs/a.html': html, 'b.html': other, 'c d.svg': '', 'app/x.html': '<a href="y">' });
    return checkLinks(folder, new Set(), new Set(['app'])).faults;
  };

  it.each([
    ['<a href="gone.html">', ['docs/a.html: gone.html: leads nowhere']],
    ['<a href="../b.html#here">', ['docs/a.html: ../b.html#here: no such anchor']],
    ['<a href="#here">', ['docs/a.html: #here: no such anchor']],
    ['<img alt="" src="p.svg">', ['docs/a.html: p.svg: leads nowhere']],
    ['<source srcset="p-dark.svg">', ['docs/a.html: p-dark.svg: leads nowhere']],
    ['<link rel="stylesheet" href="/style.css">', ['docs/a.html: /style.css: does not open from a folder']],
    ['<a href="file:///b.html">', ['docs/a.html: file:///b.html: does not open from a folder']],
    ['<a href="..">', ['docs/a.html: ..: leads nowhere']],
    ['<p id="x"></p><p id="x"></p>', ['docs/a.html: #x stands twice']],
    [`<p>${'long-'.repeat(24_001)}</p>`, [expect.stringContaining('docs/a.html: 120012 bytes')]],
    [`<main><p>${'word '.repeat(1201)}</p></main>`, [expect.stringContaining('docs/a.html: 1201 words')]],
    [`<main><p>${'word '.repeat(1200)}</p><table>${'<td>word '.repeat(1201)}</table></main>`, []],
    [
      '<h1 id="here"><a href="#here">&lt;a href="gone"&gt;</a><a href="../b.html#there"></a><img src="../c%20d.svg">',
      [],
    ],
    ['<a href="https://x.org/y"></a><a href="../app/x.html#/run/1"></a>', []],
  ])('%s', (html, faults) => {
    expect(faultsOf(html)).toEqual(faults);
  });

  it('a large page passes where it is named', () => {
    const folder = folderOf({ 'a.html': 'long '.repeat(30_000) });
    expect(checkLinks(folder, new Set(['a.html']), new Set())).toEqual({ pages: 1, links: 0, faults: [] });
  });
});

describe('navigation', () => {
  const groups = navigation(['docs/adr/0001-one.md']);

  it('a page of the repository that it does not name is missing', () => {
    const files = [
      'README.md',
      'docs/new.md',
      'docs/adr/0001-one.md',
      'docs/adr/0002-two.md',
      'src/x.md',
      'docs/a.csv',
    ];
    expect(missingPages(groups, files)).toEqual(['docs/new.md', 'docs/adr/0002-two.md']);
  });

  it('names every page that there is', () => {
    const files = listFiles();
    const decisions = files.filter((path) => path.startsWith('docs/adr/'));
    expect(decisions.length).toBeGreaterThan(10);
    expect(missingPages(navigation(decisions), files)).toEqual([]);
  });
});

describe('pages from Markdown', () => {
  const page =
    '# A\n\nIntro [to two](#two), `x < 1`.\n\n<a id="section-1"></a>\n\n## One: long\n\n### Part\n\n## Two\n\n### Part\n';
  const folder = folderOf({
    'docs/a.md': page,
    'README.md':
      '# Home\n\n[a](docs/a.md#section-1) [b](docs/a.md#part-1) [c](docs) [d](x.toml) [e](data.csv)\n\n![f](p-light.png)\n',
    'x.toml': '# A recipe. More of it.\nseed = 1\n',
    'data.csv': '1',
    'p-light.png': '',
    'p-dark.png': '',
  });
  const library = new Library(folder, new Set(['docs/a.md']), new Set());
  library.address('README.md');
  library.finish();
  const htmlOf = (path: string): string => library.pages.get(path)?.html ?? '';

  it('a divided page has a page for each section, with the anchor that stands before it', () => {
    const parts = readParts(page, true);
    expect(parts.map(({ title }) => title)).toEqual(['A', 'One: long', 'Two']);
    expect(parts.map(({ anchors }) => [...anchors])).toEqual([
      ['a'],
      ['one-long', 'part', 'section-1'],
      ['two', 'part-1'],
    ]);
    expect(readParts(page, false)).toHaveLength(1);
  });

  it('links lead to the page that has the anchor; folders, texts and pictures come along', () => {
    const home = htmlOf('index.html');
    expect([...home.matchAll(/(?:href|src|srcset)="([^"]+)"/g)].map(([, link]) => link)).toEqual([
      ...['#home', 'docs/a/one.html#section-1', 'docs/a/two.html#part-1', 'docs/index.html'],
      ...['x.toml.html', 'data.csv', 'p-dark.png', 'p-light.png'],
    ]);
    expect([...library.pages.keys()].sort()).toEqual(
      ['index.html', 'docs/a.html', 'docs/a/one.html', 'docs/a/two.html', 'docs/index.html', 'x.toml.html'].sort(),
    );
    expect([...library.copies].sort()).toEqual(['data.csv', 'p-dark.png', 'p-light.png']);
    expect(htmlOf('docs/a.html')).toContain('<a href="a/two.html">to two</a>, <code>x &lt; 1</code>');
  });

  it('a link to what is not there, or to a heading that is not, ends the build', () => {
    expect(() => library.address('docs/gone.md')).toThrow('docs/gone.md does not exist');
    expect(() => library.address('docs/a.md', 'three')).toThrow('docs/a.md has no heading #three');
    expect(relative('docs/a/one.html', 'docs/a/one.html#part')).toBe('#part');
  });

  it('the search index has the words of each heading, without tags', () => {
    const script = searchIndex([...library.pages.values()].filter(({ path }) => path === 'docs/a.html'));
    const texts = JSON.parse(script.replace(/^globalThis\.siteTexts = |;\n$/g, ''));
    expect(texts[0]).toEqual(['docs/a.html', '', 'A', 'A', 'Intro to two, x < 1.']);
  });
});

type Text = readonly [path: string, anchor: string, title: string, heading: string, text: string];
const textsOf = (script: string): Text[] => JSON.parse(script.replace(/^globalThis\.siteTexts = |;\n$/g, ''));

interface Search {
  find(texts: readonly Text[], words: readonly string[]): { meant: string[]; hits: Text[] };
  excerpt(text: string, words: readonly string[]): string;
}

describe('search', () => {
  const page: { siteSearch?: Search } = {};
  runInNewContext(readFileSync(join(root, 'site/find.js'), 'utf8'), page);
  const { find, excerpt } = page.siteSearch as Search;
  const { pages } = readPages(root, listFiles(), new Set(['demo/view.html', 'playground/index.html']));
  const texts = textsOf(searchIndex(pages));
  const paths = (words: string): string[] => find(texts, words.split(' ')).hits.map(([path]) => path);

  it('of the whole site no entity is left but those that a page writes out', () => {
    const entity = /&#?\w+;/g;
    const written = pages.flatMap(({ html }) => html.match(/&amp;#?\w+;/g) ?? []);
    const left = texts.flatMap(([, , , heading, text]) => `${heading} ${text}`.match(entity) ?? []);
    expect(texts.length).toBeGreaterThan(500);
    expect(left.sort()).toEqual(written.map((own) => own.replace('amp;', '')).sort());
    const pageOf = (html: string) => ({ path: 'a', title: 'A', html, headings: [], place: '', source: null });
    expect(textsOf(searchIndex([pageOf('<p>&#39;&#x27;&lt;&gt;&quot;&amp;amp;</p>')]))[0][4]).toBe(`''<>"&amp;`);
    expect(() => searchIndex([pageOf('<p>&frac12;</p>')])).toThrow('does not know &frac12;');
  });

  it('pages come before recipes and programs, but for the one that is named', () => {
    const found = paths('own mean');
    const isFile = found.map((path) => /\.\w+\.html$/.test(path));
    expect(isFile.lastIndexOf(false)).toBeLessThan(isFile.indexOf(true));
    expect(paths('micro-activation')[0]).toBe('recipes/micro-activation.toml.html');
    expect(paths('gq playground')[0]).toBe('docs/commands/look.html');
  });

  it('a word that nothing has is taken for the nearest one', () => {
    expect(find(texts, ['quarentine'])).toMatchObject({
      meant: ['quarantine'],
      hits: { length: paths('quarantine').length },
    });
    expect(find(texts, ['plcebo', 'mean']).meant).toEqual(['placebo', 'mean']);
    expect(find(texts, ['xyzzyx'])).toEqual({ meant: ['xyzzyx'], hits: [] });
  });

  it('what is shown of a place cuts no word', () => {
    const text = `${'word '.repeat(30)}the quarantine is deleted ${'after '.repeat(40).trim()}`;
    const shown = excerpt(text, ['quarantine']);
    expect(shown).toContain('the quarantine is deleted');
    expect(new Set(shown.split(/[ …]/))).toEqual(new Set(['', 'word', 'the', 'quarantine', 'is', 'deleted', 'after']));
    expect(shown).toMatch(/^…word .* after…$/);
    expect(excerpt('A short text.', ['elsewhere'])).toBe('A short text.');
  });
});

describe('the demo', () => {
  it('is small, and one trained seed that says so: vanilla has learned the exploit', async () => {
    expect(statSync(demoArchive).size).toBeLessThan(1_500_000);
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(files.filter((path: string) => 'site/'.startsWith(path))).toEqual([]);
    const runs = unpackDemo(mkdtempSync(join(tmpdir(), 'site-demo-')));
    const words = describeResults(await openResults(join(runs, 'demo-quick-1'))).join('\n');
    expect(words).toMatch(/vanilla attempts \d\d% of prompts .* training amplified the exploit/);
    expect(words).toContain('n = 1, no claim');
    expect(words).not.toContain('did not raise attempts');
    const created = JSON.parse(readFileSync(join(runs, 'demo-quick-1/vanilla-1/manifest.json'), 'utf8')).created;
    const page = readFileSync(demoPage, 'utf8');
    expect(created).toContain(madeOf(page).date);
    expect(page).toContain('one seed and no claim');
    expect(() => madeOf('no commit')).toThrow('names no commit');
  });
});

describe('declarations', () => {
  const files: Readonly<Record<string, string>> = {
    'entry/index.d.ts': `export { type Table, render as draw } from '../report/index.ts';\nexport { z } from 'zod';\n`,
    'report/index.d.ts': `export * from './table.ts';\n`,
    'report/table.d.ts': `import type { Row } from './row.ts';
/** Rows with a head. */
export interface Table { readonly rows: readonly Row[]; readonly style: Style }
interface Style { readonly wide: boolean }
/** As text. */
export declare function render(table: Table): string;
export declare function render(table: Table, width: number): string;
`,
    'report/row.d.ts': 'export type Row = readonly string[];\n',
  };
  const declarations = new Declarations((path) => files[path]);

  it('are found wherever they stand, with their comments and every way to call them', () => {
    const [draw, z, table] = declarations.exportsOf('entry/index.d.ts');
    expect(draw).toMatchObject({ name: 'draw', comment: 'As text.', file: 'report/table.d.ts', isType: false });
    expect(draw.text.split('\n')).toHaveLength(2);
    expect(z.text).toBe(`import { z } from 'zod'`);
    expect(table).toMatchObject({ name: 'Table', comment: 'Rows with a head.', isType: true });
    expect(declarations.mentionedBy(table).map(({ name, file }) => `${file} ${name}`)).toEqual([
      'report/row.d.ts Row',
      'report/table.d.ts Style',
    ]);
  });

  it('a type is a link where it is the whole name, and not inside of another', () => {
    const folder = folderOf({
      'entry/index.d.ts': `export * from '../env/grader.ts';\n`,
      'env/grader.d.ts':
        'export interface Grader { readonly name: string }\nexport declare function createGrader(of: Grader): Promise<Grader>;\n',
    });
    const pages = apiPages('it', { '.': { types: './dist/entry/index.d.ts' } }, folder, folder);
    const html = pages.find(({ path }) => path === 'api/main.html')?.html ?? '';
    const links = [...html.matchAll(/(\w*)<a href="#type-Grader">Grader<\/a>/g)].map(([, before]) => before);
    expect(links).toEqual(['', '']);
  });

  it('a name that is exported and nowhere declared is an error', () => {
    const broken = { ...files, 'report/table.d.ts': 'export interface Table {}\n' };
    const read = (path: string): string => broken[path as keyof typeof broken];
    expect(() => new Declarations(read).exportsOf('entry/index.d.ts')).toThrow('report/index.d.ts exports no render');
  });

  it('the comment at the top of a file is prose', () => {
    expect(headerOf(`/**\n * Two\n * lines.\n */\nimport 'x';`)).toBe('Two\nlines.');
    expect(headerOf(`import 'x';\n/** Not this. */`)).toBe('');
  });
});
