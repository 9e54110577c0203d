/**
 * Writes what the viewer shows as files: a folder for any web server, with its data beside the page, and view.html, one file that opens
 * from disk. Both are made from the answers that the server would give.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { writeFileAtomic } from '../base/node/index.ts';
import type { LedgerRow } from './api.ts';
import { ledgerParquet } from './bundle-ledger.ts';
import { existsManifest } from './catalogue.ts';
import type { ListedLedger } from './ledger-columns.ts';
import { type PageKind, ViewLibrary } from './library.ts';
import { type PageFiles, pageHtml, wholePage } from './page-files.ts';

export interface WrittenBundle {
  readonly files: number;
  readonly runs: number;
  /** Bytes of view.html. */
  readonly wholeBytes: number;
  /** Pages that could not be made, and why. */
  readonly leftOut: readonly { readonly page: string; readonly why: string }[];
}

/** The key of an answer; the page makes the same. */
function answerKey(kind: PageKind, id: string): string {
  return `${kind} ${id}`;
}

/** Bytes of answers that one file may have inside: more would be too long for one text, and for most browsers. */
const usualInline = 200_000_000;

export async function writeBundle(
  root: string,
  target: string,
  page: PageFiles,
  onPage: (page: string) => void = () => undefined,
  mostInline = usualInline,
): Promise<WrittenBundle> {
  const library = new ViewLibrary(root);
  const leftOut: { page: string; why: string }[] = [];
  const packed = new Map<string, Buffer>();
  const ledgers = new Map<string, Buffer>();
  for (const [kind, id] of questionsOf(library)) {
    onPage(answerKey(kind, id));
    try {
      const value = await library.answer(kind, new URLSearchParams({ id }));
      if (kind === 'rows') ledgers.set(answerKey(kind, id), await ledgerParquet(value as LedgerRow[]));
      packed.set(answerKey(kind, id), gzipSync(JSON.stringify(value)));
    } catch (error) {
      leftOut.push({ page: answerKey(kind, id), why: error instanceof Error ? error.message : String(error) });
    }
  }
  const inline = inlineAnswers(packed, mostInline);
  if (inline.size < packed.size) {
    const why = `it would have more than ${mostInline / 1e6} MB inside, so it is without rollouts; the folder has them`;
    leftOut.push({ page: 'view.html', why });
  }
  const whole = wholePage(page, inlineData(inline));
  const files = new Map<string, string | Buffer>([
    ['index.html', pageHtml('folder')],
    ['app.js', page.script],
    ['app.css', page.style],
    ['view.html', whole],
    ...folderData(packed, ledgers),
  ]);
  mkdirSync(join(target, 'data'), { recursive: true });
  for (const [name, content] of files) await writeFileAtomic(join(target, name), content);
  const runs = [...packed.keys()].filter((key) => key.startsWith('run ')).length;
  return { files: files.size, runs, wholeBytes: Buffer.byteLength(whole), leftOut };
}

function questionsOf(library: ViewLibrary): [kind: PageKind, id: string][] {
  const kinds: readonly PageKind[] = ['run', 'gate', 'answers', 'rows', 'labels', 'tokens'];
  return [
    ['home', ''],
    ['notes', ''],
    ...library.entries().flatMap(({ kind, id, path }): [PageKind, string][] => {
      if (kind === 'experiment')
        return [
          ['experiment', id],
          ['labels', id],
          ['training', id],
        ];
      return existsManifest(path) ? kinds.map((own) => [own, id]) : [];
    }),
  ];
}

/** Numbered files and the list that names them: ids may hold any character, names of files here do not. Ledgers are read in parts. */
function folderData(
  packed: ReadonlyMap<string, Buffer>,
  ledgers: ReadonlyMap<string, Buffer>,
): [string, string | Buffer][] {
  const named = [...packed].map(([key, json], i) => {
    const ledger = ledgers.get(key);
    if (ledger === undefined) return { key, bytes: json, name: `data/${i}.json.gz` };
    return { key, bytes: ledger, name: `data/${i}.parquet` };
  });
  const list = Object.fromEntries(
    named.map(({ key, name, bytes }): [string, string | ListedLedger] => [
      key,
      ledgers.has(key) ? { parquet: name, bytes: bytes.length } : name,
    ]),
  );
  return [['data/list.json', JSON.stringify(list)], ...named.map(({ name, bytes }): [string, Buffer] => [name, bytes])];
}

/** What view.html has inside: everything, or where that is too much everything but rollouts and their tokens. */
function inlineAnswers(packed: ReadonlyMap<string, Buffer>, most: number): ReadonlyMap<string, Buffer> {
  const sum = [...packed.values()].reduce((all, { length }) => all + length, 0);
  return sum <= most ? packed : new Map([...packed].filter(([key]) => !/^(?:rows|tokens) /.test(key)));
}

function inlineData(packed: ReadonlyMap<string, Buffer>): string {
  const list = Object.fromEntries([...packed].map(([key, bytes]) => [key, bytes.toString('base64')]));
  return gzipSync(JSON.stringify(list), { level: 1 }).toString('base64');
}
