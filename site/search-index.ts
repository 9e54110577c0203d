/** The texts of all pages, by heading, as a script: a page that is opened from a folder may load a script, and no data. */
import type { SitePage } from './library.ts';

type Text = readonly [path: string, anchor: string, title: string, heading: string, text: string];

export function searchIndex(pages: readonly SitePage[]): string {
  return `globalThis.siteTexts = ${JSON.stringify(pages.flatMap(textsOf))};\n`;
}

function textsOf({ path, title, html }: SitePage): Text[] {
  return html.split(/(?=<h[1-6][ >])/).flatMap((section): Text[] => {
    const [all, , id = '', heading = ''] = /^<h([1-6])(?: id="([^"]*)")?>([\s\S]*?)<\/h\1>/.exec(section) ?? [''];
    const text = plain(section.slice(all.length));
    const isTop = all.startsWith('<h1');
    return text === '' && heading === '' ? [] : [[path, isTop ? '' : id, title, isTop ? title : plain(heading), text]];
  });
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ', apos: "'" };

/** One that is not known ends the build: a reader would find it in what a search shows. */
function decoded(whole: string, name: string): string {
  const [, hex, decimal] = /^#(?:x([\da-f]+)|(\d+))$/i.exec(name) ?? [];
  const point = hex === undefined ? decimal : `0x${hex}`;
  const text = point === undefined ? entities[name] : String.fromCodePoint(Number(point));
  if (text === undefined) throw new Error(`site: the search index does not know ${whole}`);
  return text;
}

const plain = (html: string): string =>
  html
    .replace(/<a class="anchor"[^>]*>#<\/a>/g, '')
    .replace(/<\/(?:td|th|p|li|pre|h\d)>/g, ' ')
    .replace(/<[^>]*>/g, '')
    .replace(/&(#?\w+);/g, decoded)
    .replace(/\s+/g, ' ')
    .trim();
