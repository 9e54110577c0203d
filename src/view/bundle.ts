/**
 * Writes what the viewer shows as files: a folder for any web server, with its data beside the page, and view.html, one file that opens
 * from disk. Both are made from the answers that the server would give.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { writeFileAtomic } from '../base/node/index.ts';
import { existsManifest } from './catalogue.ts';
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

export async function writeBundle(
  root: string,
  target: string,
  page: PageFiles,
  onPage: (page: string) => void = () => undefined,
): Promise<WrittenBundle> {
  const library = new ViewLibrary(root);
  const leftOut: { page: string; why: string }[] = [];
  const packed = new Map<string, Buffer>();
  for (const [kind, id] of questionsOf(library)) {
    onPage(answerKey(kind, id));
    try {
      const value = await library.answer(kind, new URLSearchParams({ id }));
      packed.set(answerKey(kind, id), gzipSync(JSON.stringify(value)));
    } catch (error) {
      leftOut.push({ page: answerKey(kind, id), why: error instanceof Error ? error.message : String(error) });
    }
  }
  const whole = wholePage(page, inlineData(packed));
  const files = new Map<string, string | Buffer>([
    ['index.html', pageHtml('folder')],
    ['app.js', page.script],
    ['app.css', page.style],
    ['view.html', whole],
    ...folderData(packed),
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

/** Numbered files and the list that names them: ids may hold any character, names of files here do not. */
function folderData(packed: ReadonlyMap<string, Buffer>): [string, string | Buffer][] {
  const named = [...packed].map(([key, bytes], i) => ({ key, bytes, name: `data/${i}.json.gz` }));
  const list = Object.fromEntries(named.map(({ key, name }) => [key, name]));
  return [['data/list.json', JSON.stringify(list)], ...named.map(({ name, bytes }): [string, Buffer] => [name, bytes])];
}

function inlineData(packed: ReadonlyMap<string, Buffer>): string {
  const list = Object.fromEntries([...packed].map(([key, bytes]) => [key, bytes.toString('base64')]));
  return gzipSync(JSON.stringify(list), { level: 1 }).toString('base64');
}
