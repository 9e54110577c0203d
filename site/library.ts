/** The pages of the site, made from the files of the repository. A link brings in what it leads to: a page, a file's text, a folder's list, or a copy. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import {
  codeBlock,
  escapeHtml,
  type Heading,
  highlight,
  type Part,
  readParts,
  renderInline,
  renderPart,
  slugOf,
} from './markdown.ts';

export interface SitePage {
  /** Where it stands in the site. */
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  /** The place in the navigation that it belongs to. */
  readonly place: string;
  /** The file or folder of the repository that it shows, if it is one. */
  readonly source: string | null;
}

export interface Section {
  readonly title: string;
  readonly path: string;
}

interface Document {
  readonly parts: readonly (Part & { readonly path: string })[];
}

const code = /\.(?:ts|js|mjs|toml|jsonl|json|py|sh)$/;
const mostShown = 60_000;

/** A short name of a section: what stands before its colon. */
const shortName = (title: string): string => title.split(': ')[0];

export class Library {
  readonly pages = new Map<string, SitePage>();
  /** Files that are copied as they are. */
  readonly copies = new Set<string>();
  readonly #documents = new Map<string, Document>();
  readonly #waiting: (() => void)[] = [];
  readonly #root: string;
  readonly #divided: ReadonlySet<string>;
  readonly #made: ReadonlySet<string>;

  /** `divided` names the documents whose sections are pages, `made` what the site has from elsewhere. */
  constructor(root: string, divided: ReadonlySet<string>, made: ReadonlySet<string>) {
    this.#root = root;
    this.#divided = divided;
    this.#made = made;
  }

  /** Makes all pages that were asked for, and those that they link to. */
  finish(): void {
    for (let make = this.#waiting.shift(); make !== undefined; make = this.#waiting.shift()) make();
  }

  /** The address in the site of a file or folder of the repository, which becomes part of the site by that. */
  address(target: string, anchor?: string): string {
    const file = join(this.#root, target);
    if (!existsSync(file)) throw new Error(`site: ${target} does not exist`);
    if (statSync(file).isDirectory()) {
      const readme = posix.join(target, 'README.md');
      return existsSync(join(this.#root, readme)) ? this.address(readme) : this.#folder(target);
    }
    if (target.endsWith('.md')) return this.#place(target, anchor);
    if (code.test(target) && statSync(file).size <= mostShown) return this.#text(target);
    this.copies.add(target);
    return target;
  }

  /** The parts of a document that is divided: its sections, in order. */
  sections(target: string): readonly Section[] {
    const parts = this.#document(target).parts.slice(1);
    return parts.map(({ title, path }) => ({ title: shortName(title), path }));
  }

  titleOf(target: string): string {
    return this.#document(target).parts[0].title;
  }

  #place(target: string, anchor: string | undefined): string {
    const { parts } = this.#document(target);
    if (anchor === undefined) return parts[0].path;
    const part = parts.find(({ anchors }) => anchors.has(anchor));
    if (part === undefined) throw new Error(`site: ${target} has no heading #${anchor}`);
    // A section that is a page of its own begins with its heading.
    return part !== parts[0] && part.headings[0]?.id === anchor ? part.path : `${part.path}#${anchor}`;
  }

  #document(target: string): Document {
    const known = this.#documents.get(target);
    if (known !== undefined) return known;
    const home = target.replace(/^site\//, '').replace(/README\.md$/, 'index.md');
    const parts = readParts(this.#read(target), this.#divided.has(target)).map((part, i) => {
      const name = i === 0 ? home.slice(0, -3) : `${home.slice(0, -3)}/${slugOf(shortName(part.title))}`;
      return { ...part, path: `${name}.html` };
    });
    const document = { parts };
    this.#documents.set(target, document);
    this.#waiting.push(() => {
      for (const part of parts) this.#write(target, part, document);
    });
    return document;
  }

  #write(target: string, part: Part & { path: string }, { parts }: Document): void {
    const addresses = {
      link: (href: string) => this.#link(target, part.path, href),
      darkTwin: (href: string) => {
        const twin = href.replace('-light.', '-dark.');
        const exists = twin !== href && existsSync(join(this.#root, posix.join(posix.dirname(target), twin)));
        return exists ? this.#link(target, part.path, twin) : null;
      },
    };
    const isFirst = part === parts[0];
    const list = isFirst && parts.length > 1 ? sectionList(part.path, parts.slice(1)) : '';
    this.#add({ ...part, html: renderPart(part, addresses) + list, place: target, source: target });
  }

  #link(target: string, from: string, href: string): string {
    if (/^[a-z]+:/.test(href)) return href;
    if (this.#made.has(href)) return relative(from, href);
    const [file, anchor] = href.split('#');
    const path = file === '' ? target : posix.join(posix.dirname(target), file).replace(/\/$/, '');
    return relative(from, this.address(path, anchor));
  }

  #text(target: string): string {
    const path = `${target}.html`;
    if (!this.pages.has(path)) {
      const shown = codeBlock(highlight(this.#read(target), posix.extname(target).slice(1)));
      const title = posix.basename(target);
      const html = `<h1>${escapeHtml(title)}</h1>\n${shown}`;
      this.#add({ path, title, html, headings: [], place: posix.dirname(target), source: target });
    }
    return path;
  }

  #folder(target: string): string {
    const path = `${target}/index.html`;
    if (this.pages.has(path)) return path;
    const names = readdirSync(join(this.#root, target), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
    const rows = names.map((name) => {
      const file = posix.join(target, name);
      const link = relative(path, this.address(file));
      return `<tr><td><a href="${link}">${escapeHtml(name)}</a></td><td>${renderInline(this.#summary(file))}</td></tr>`;
    });
    const table = `<div class="table" tabindex="0" role="group" aria-label="files"><table><tbody>\n${rows.join('\n')}\n</tbody></table></div>`;
    const title = posix.basename(target).replace(/^./, (letter) => letter.toUpperCase());
    this.#add({ path, title, html: `<h1>${title}</h1>\n${table}`, headings: [], place: target, source: target });
    return path;
  }

  /** What a file says of itself: the title of a page, the comment at the top of a program or a recipe. */
  #summary(target: string): string {
    if (target.endsWith('.md')) return this.titleOf(target);
    if (!code.test(target)) return '';
    const [, block, lines] = /^\/\*\*\s*([\s\S]*?)\*\/|^((?:#.*\n)+)/.exec(this.#read(target)) ?? [];
    const words = block?.replace(/^ *\* ?/gm, '') ?? lines?.replace(/^# ?/gm, '') ?? '';
    // Its first sentence, or its first paragraph if there is none.
    return words.trim().split(/\n\s*\n|(?<=[.?!])\s+(?=[A-Z])/)[0];
  }

  #read(target: string): string {
    return readFileSync(join(this.#root, target), 'utf8');
  }

  #add({ path, title, html, headings, place, source }: SitePage): void {
    if (this.pages.has(path)) throw new Error(`site: two pages would be ${path}`);
    this.pages.set(path, { path, title, html, headings, place, source });
  }
}

function sectionList(from: string, parts: readonly Section[]): string {
  const items = parts.map(({ title, path }) => `<li><a href="${relative(from, path)}">${escapeHtml(title)}</a></li>`);
  return `<h2 id="sections-of-this-page">Sections</h2>\n<ol class="sections">\n${items.join('\n')}\n</ol>\n`;
}

/** The address of one page of the site as another page writes it. */
export function relative(from: string, to: string): string {
  const [path, anchor] = to.split('#');
  const address = path === from && anchor !== undefined ? '' : posix.relative(posix.dirname(from), path);
  return anchor === undefined ? address : `${address}#${anchor}`;
}
