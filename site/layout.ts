/** The frame around a page: navigation, contents, search, the pages before and after. All addresses are relative, so that a folder is enough. */
import { relative, type Section, type SitePage } from './library.ts';
import { escapeHtml, type Heading } from './markdown.ts';

export interface Chapter {
  readonly title: string;
  readonly entries: readonly Entry[];
}

export interface Entry {
  readonly place: string;
  readonly name: string;
  readonly path: string;
  readonly sections: readonly Section[];
}

export interface Frame {
  readonly chapters: readonly Chapter[];
  readonly version: string;
}

const link = (from: string, to: string, name: string): string =>
  `<a href="${relative(from, to)}"${from === to ? ' aria-current="page"' : ''}>${escapeHtml(name)}</a>`;

export function framePage(page: SitePage, { chapters, version }: Frame): string {
  const { path, title, html, place, source, headings } = page;
  const root = '../'.repeat(path.split('/').length - 1);
  const chapter = chapters.find(({ entries }) => entries.some((entry) => entry.place === place));
  const entry = chapter?.entries.find((own) => own.place === place);
  const name = title === 'gradient-quarantine' ? title : `${title} · gradient-quarantine`;
  const trail = entry === undefined || entry.path === path ? [] : [link(path, entry.path, entry.name)];
  const crumbs = [...(chapter === undefined || chapter.title === entry?.name ? [] : [chapter.title]), ...trail];
  const isDivided = entry?.path === path && entry.sections.length > 0;
  const contents = isDivided ? sectionsOf(path, entry.sections) : contentsOf(headings);
  return `<!doctype html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}style.css">
<script defer src="${root}search.js"></script>
<title>${escapeHtml(name)}</title>
</head>
<body id="top">
<a class="skip" href="#content">To the text</a>
<header>
<a class="menu" href="#navigation">Menu</a>
<a class="brand" href="${root}index.html"><span aria-hidden="true" class="sign"></span>gradient-quarantine</a>
<form role="search"><input id="query" type="search" placeholder="Search" aria-label="Search all pages" autocomplete="off"><div id="found" aria-live="polite"></div></form>
</header>
<div class="columns">
<nav id="navigation" aria-label="All pages"><a class="close" href="#top">Close the menu</a>
${chapters.map((own) => chapterList(own, path, own === chapter ? entry : undefined)).join('\n')}
</nav>
<main id="content">
${crumbs.length === 0 ? '' : `<p class="crumbs">${crumbs.join(' › ')}</p>`}
${contents}<article>
${html}</article>
${neighbours(path, chapters)}
<footer>gradient-quarantine ${version}${source === null ? '' : ` · made from <code>${escapeHtml(source)}</code>`}</footer>
</main>
</div>
</body>
</html>
`;
}

function chapterList({ title, entries }: Chapter, path: string, current: Entry | undefined): string {
  const items = entries.map((entry) => {
    const sections = entry === current ? entry.sections : [];
    const inside = sections.map((own) => `<li>${link(path, own.path, own.title)}</li>`);
    return `<li>${link(path, entry.path, entry.name)}${inside.length === 0 ? '' : `<ul>${inside.join('')}</ul>`}</li>`;
  });
  const isOpen = current !== undefined || title === 'Start';
  return `<details${isOpen ? ' open' : ''}><summary>${title}</summary><ul>${items.join('\n')}</ul></details>`;
}

const contentsBox = (title: string, items: readonly string[]): string =>
  `<details class="contents" open><summary>${title}</summary><ul>\n${items.join('\n')}\n</ul></details>\n`;

const sectionsOf = (path: string, sections: readonly Section[]): string =>
  contentsBox(
    'Sections',
    sections.map((own) => `<li>${link(path, own.path, own.title)}</li>`),
  );

/** The headings of a page, if it has enough of them. */
function contentsOf([, ...headings]: readonly Heading[]): string {
  if (headings.length < 3) return '';
  const top = Math.min(...headings.map(({ depth }) => depth));
  const shown = headings.filter(({ depth }) => depth <= top + 1);
  return contentsBox(
    'On this page',
    shown.map(
      ({ id, depth, text }) => `<li class="level-${depth - top}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
    ),
  );
}

function neighbours(path: string, chapters: readonly Chapter[]): string {
  const order = chapters.flatMap(({ entries }) =>
    entries.flatMap(({ path: own, name, sections }) => [{ path: own, title: name }, ...sections]),
  );
  const at = order.findIndex((own) => own.path === path);
  if (at < 0) return '';
  const show = (side: string, words: string, own: { path: string; title: string } | undefined): string =>
    own === undefined
      ? ''
      : `<a class="${side}" href="${relative(path, own.path)}"><small>${words}</small> ${escapeHtml(own.title)}</a>`;
  return `<nav class="neighbours" aria-label="The pages before and after">${show('before', 'Before', order[at - 1])}${show('after', 'Next', order[at + 1])}</nav>`;
}
