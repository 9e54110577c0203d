/** Checks a built site as a reader would find it in a folder: every address of every page leads to a file and an anchor of the site. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';

/** What a page may weigh: more is too much to read, and slow on a phone. */
const mostBytes = 120_000;
/** Of prose: tables and programs are looked up, not read. */
const mostWords = 1200;
/** Records: what was measured, found and decided, an entry after the other. */
const record = /^(?:LOG|docs\/adr|docs\/results|bench\/results)\//;

export interface LinkReport {
  readonly pages: number;
  readonly links: number;
  readonly faults: readonly string[];
}

/** `large` names pages that may be above the limits; `apart` folders whose pages find their addresses by a program. */
export function checkLinks(folder: string, large: ReadonlySet<string>, apart: ReadonlySet<string>): LinkReport {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/'));
  const files = new Set(paths.filter((path) => statSync(join(folder, path)).isFile()));
  const pages = [...files].filter((path) => path.endsWith('.html') && !apart.has(path.split('/')[0]));
  const texts = new Map(pages.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
  const anchors = new Map([...texts].map(([path, html]) => [path, idsOf(html)]));
  const faults: string[] = [];
  let links = 0;
  for (const [path, html] of texts) {
    const ids = anchors.get(path) ?? [];
    for (const id of new Set(ids.filter((own, i) => ids.indexOf(own) !== i)))
      faults.push(`${path}: #${id} stands twice`);
    if (Buffer.byteLength(html) > mostBytes && !large.has(path)) {
      faults.push(`${path}: ${Buffer.byteLength(html)} bytes, ${mostBytes} at most: divide it (site/navigation.ts)`);
    }
    const words = proseWords(html);
    if (words > mostWords && !large.has(path) && !record.test(path)) {
      faults.push(`${path}: ${words} words, ${mostWords} at most: divide it (site/navigation.ts)`);
    }
    for (const link of addressesOf(html)) {
      links++;
      const fault = faultOf(path, link, files, anchors);
      if (fault !== null) faults.push(`${path}: ${link}: ${fault}`);
    }
  }
  return { pages: pages.length, links, faults };
}

/** The words of a page without its tables, programs and lists of its own headings. */
function proseWords(html: string): number {
  const main = /<main[\s\S]*?<\/main>/.exec(html)?.[0] ?? html;
  const prose = main.replace(/<(table|pre|nav|script|style)\b[\s\S]*?<\/\1>/g, ' ').replace(/<[^>]*>/g, ' ');
  return prose.match(/\S+/g)?.length ?? 0;
}

const idsOf = (html: string): string[] => [...html.matchAll(/<[a-z][^<>]*? id="([^"]*)"/g)].map(([, id]) => id);

function addressesOf(html: string): string[] {
  const found = [...html.matchAll(/<[a-z][^<>]*?>/g)].flatMap(([tag]) =>
    [...tag.matchAll(/ (?:href|src|srcset)="([^"]*)"/g)].map(([, link]) => link.replaceAll('&amp;', '&')),
  );
  return found.filter((link) => !/^(?:https?|mailto|data):/.test(link));
}

function faultOf(
  path: string,
  link: string,
  files: ReadonlySet<string>,
  anchors: ReadonlyMap<string, readonly string[]>,
): string | null {
  const [address, anchor] = link.split('#');
  if (/^[a-z]+:|^\//.test(address)) return 'does not open from a folder';
  const target = address === '' ? path : posix.join(posix.dirname(path), decodeURIComponent(address));
  if (!files.has(target)) return 'leads nowhere';
  if (anchor === undefined || anchor === '') return null;
  return anchors.get(target)?.includes(decodeURIComponent(anchor)) === false ? 'no such anchor' : null;
}
