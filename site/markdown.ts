/** Markdown as HTML: the headings' anchors are those that GitHub makes, so that a link works in both places. */
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import ini from 'highlight.js/lib/languages/ini';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import { Marked, type Token, type Tokens } from 'marked';

const languages = { bash, ini, json, python, typescript };
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);
const names: Readonly<Record<string, string>> = {
  ...{ sh: 'bash', toml: 'ini', json: 'json', jsonl: 'json', py: 'python', python: 'python' },
  ...{ ts: 'typescript', js: 'typescript', mjs: 'typescript' },
};

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Code with its words marked, for the languages that the pages use. */
export function highlight(code: string, language: string): string {
  const name = names[language];
  return name === undefined ? escapeHtml(code) : hljs.highlight(code, { language: name }).value;
}

export const codeBlock = (html: string): string => `<pre tabindex="0"><code>${html}</code></pre>\n`;

/** The anchor of a heading, as GitHub makes it. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const plainText = (tokens: readonly Token[]): string =>
  tokens
    .map((token) => ('tokens' in token && token.tokens ? plainText(token.tokens) : unescapeHtml(token.raw)))
    .join('');
const unescapeHtml = (text: string): string => text.replace(/^(`+) ?([\s\S]*?) ?\1$/, '$2').replace(/<[^>]*>/g, '');

export interface Heading {
  readonly id: string;
  readonly depth: number;
  readonly text: string;
}

/** A page or one section of a divided page. */
export interface Part {
  readonly title: string;
  readonly headings: readonly Heading[];
  /** All anchors: those of the headings, and those that the text has by `<a id>`. */
  readonly anchors: ReadonlySet<string>;
  readonly tokens: readonly Token[];
}

const reader = new Marked({ gfm: true });

/** The parts of a page: one, or with `divided` one before the first section and one of each section. */
export function readParts(text: string, divided: boolean): Part[] {
  const blocks: Token[][] = [[]];
  for (const token of reader.lexer(text)) {
    if (divided && token.type === 'heading' && token['depth'] === 2) {
      const before = blocks.at(-1) ?? [];
      // An anchor right before the heading goes with it.
      const carried = before.findLastIndex((own) => !/^(?:<a id="[^"]*"><\/a>)?\s*$/.test(own.raw)) + 1;
      blocks.push(before.splice(carried));
    }
    blocks.at(-1)?.push(token);
  }
  const taken = new Map<string, number>();
  return blocks.map((tokens) => readPart(tokens, taken));
}

function readPart(tokens: readonly Token[], taken: Map<string, number>): Part {
  const headings = tokens
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map((token) => {
      const text = plainText(token.tokens);
      const slug = slugOf(text);
      const count = taken.get(slug) ?? 0;
      taken.set(slug, count + 1);
      return { id: count === 0 ? slug : `${slug}-${count}`, depth: token.depth, text };
    });
  const given = tokens.flatMap(({ raw }) => [...raw.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id));
  const title = headings[0]?.text ?? '';
  return { title, headings, tokens, anchors: new Set([...headings.map(({ id }) => id), ...given]) };
}

/** Where a link leads in the site; pictures have a dark twin where there is one. */
export interface Addresses {
  link(href: string): string;
  darkTwin(href: string): string | null;
}

/** The HTML of a part. Its first heading is the page's title, whatever its depth was. */
export function renderPart({ tokens, headings }: Part, addresses: Addresses): string {
  let at = 0;
  const top = headings[0]?.depth ?? 1;
  const writer = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens: inside }) {
        const { id, depth } = headings[at++];
        const level = depth - top + 1;
        const anchor = `<a class="anchor" href="#${id}" aria-hidden="true" tabindex="-1">#</a>`;
        return `<h${level} id="${id}">${this.parser.parseInline(inside)}${anchor}</h${level}>\n`;
      },
      link({ href, tokens: inside }) {
        return `<a href="${escapeHtml(addresses.link(href))}">${this.parser.parseInline(inside)}</a>`;
      },
      image({ href, text }) {
        const own = `<img alt="${escapeHtml(text)}" src="${escapeHtml(addresses.link(href))}">`;
        const dark = addresses.darkTwin(href);
        if (dark === null) return own;
        return `<picture><source media="(prefers-color-scheme: dark)" srcset="${escapeHtml(dark)}">${own}</picture>`;
      },
      html({ text }) {
        return text.replace(/\b(src|srcset|href)="([^"]+)"/g, (_, name, href) => `${name}="${addresses.link(href)}"`);
      },
      code({ text, lang = '' }) {
        return codeBlock(highlight(text, lang));
      },
      table(table) {
        const cell = (own: string, { tokens: inside, align, text }: Tokens.TableCell): string => {
          // A heading without words would be read out as one.
          const tag = text === '' ? 'td' : own;
          return `<${tag}${align === null ? '' : ` class="${align}"`}>${this.parser.parseInline(inside)}</${tag}>`;
        };
        const row = (tag: string, cells: Tokens.TableCell[]): string =>
          `<tr>${cells.map((own) => cell(tag, own)).join('')}</tr>\n`;
        const body = table.rows.map((cells) => row('td', cells)).join('');
        const head = `<thead>\n${row('th', table.header)}</thead>`;
        return `<div class="table" tabindex="0" role="group" aria-label="table"><table>${head}<tbody>\n${body}</tbody></table></div>\n`;
      },
    },
  });
  return writer.parser([...tokens]);
}

/** A few words of Markdown inside of a line. */
export const renderInline = (text: string): string => reader.parseInline(text, { async: false });
