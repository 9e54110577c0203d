/**
 * Writes what the viewer shows as files: a folder for any web server, with its data beside the page, and view.html, one file that opens
 * from disk. Both are made from the answers that the server would give.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readRegular, writeFileAtomic } from '../base/node/index.ts';
import { RunDirectory } from '../run/index.ts';
import type { RunFiles } from './api.ts';
import { existsManifest } from './catalogue.ts';
import { type PageKind, ViewLibrary } from './library.ts';
import { type PageFiles, pageHtml, wholePage } from './page-files.ts';
import { runFiles } from './run-files.ts';

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
  const copies = new Map<string, CopiedRun>();
  for (const [kind, id] of questionsOf(library)) {
    onPage(answerKey(kind, id));
    try {
      const value = await library.answer(kind, new URLSearchParams({ id }));
      if (kind === 'files') copies.set(id, copyRun(library.find(id).path));
      else packed.set(answerKey(kind, id), gzipSync(JSON.stringify(value)));
    } catch (error) {
      leftOut.push({ page: answerKey(kind, id), why: error instanceof Error ? error.message : String(error) });
    }
  }
  const all = new Map([...packed, ...inlineFiles(copies)]);
  const inline = inlineAnswers(all, mostInline);
  if (inline.size < all.size) {
    const why = `it would have more than ${mostInline / 1e6} MB inside, so it is without rollouts; the folder has them`;
    leftOut.push({ page: 'view.html', why });
  }
  const whole = wholePage(page, inlineData(inline));
  const files = new Map<string, string | Buffer>([
    ['index.html', pageHtml('folder')],
    ['app.js', page.script],
    ['app.css', page.style],
    ['view.html', whole],
    ...folderData(packed, copies),
  ]);
  mkdirSync(join(target, 'data'), { recursive: true });
  for (const [name, content] of files) await writeFileAtomic(join(target, name), content);
  const runs = [...packed.keys()].filter((key) => key.startsWith('run ')).length;
  return { files: files.size, runs, wholeBytes: Buffer.byteLength(whole), leftOut };
}

function questionsOf(library: ViewLibrary): [kind: PageKind, id: string][] {
  const kinds: readonly PageKind[] = ['run', 'gate', 'answers', 'files', 'labels', 'tokens'];
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

/** The files of a run's rollouts, named as in the run, and their bytes. */
interface CopiedRun {
  readonly files: RunFiles;
  readonly bytes: Readonly<Record<'rollouts' | 'verdicts', Buffer>>;
}

function copyRun(path: string): CopiedRun {
  const files = runFiles(RunDirectory.open(path), (name) => name);
  const read = ({ name, bytes }: RunFiles['rollouts']): Buffer => readRegular(join(path, name)).subarray(0, bytes);
  return { files, bytes: { rollouts: read(files.rollouts), verdicts: read(files.verdicts) } };
}

/** The same files under other names. */
function renamed({ isSealed, rollouts, verdicts }: RunFiles, nameOf: (name: string) => string): RunFiles {
  const file = ({ name, bytes }: RunFiles['rollouts']) => ({ name: nameOf(name), bytes });
  return { isSealed, rollouts: file(rollouts), verdicts: file(verdicts) };
}

/** Numbered files and the list that names them: ids may hold any character, names of files here do not. Files of rollouts are read in parts. */
function folderData(
  packed: ReadonlyMap<string, Buffer>,
  copies: ReadonlyMap<string, CopiedRun>,
): [string, string | Buffer][] {
  const answers = [...packed].map(([key, bytes], i) => ({ key, bytes, name: `data/${i}.json.gz` }));
  const runs = [...copies].map(([id, { files, bytes }], i) => ({
    key: answerKey('files', id),
    files: renamed(files, (name) => `data/run-${i}-${name}`),
    bytes,
  }));
  const list = Object.fromEntries<string | RunFiles>([
    ...answers.map(({ key, name }) => [key, name] as const),
    ...runs.map(({ key, files }) => [key, files] as const),
  ]);
  return [
    ['data/list.json', JSON.stringify(list)],
    ...answers.map(({ name, bytes }): [string, Buffer] => [name, bytes]),
    ...runs.flatMap(({ files, bytes }): [string, Buffer][] => [
      [files.rollouts.name, bytes.rollouts],
      [files.verdicts.name, bytes.verdicts],
    ]),
  ];
}

/** The files of rollouts as they are inside view.html: their bytes beside the answers, by the names that the answer `files` gives them. */
function inlineFiles(copies: ReadonlyMap<string, CopiedRun>): [string, Buffer][] {
  return [...copies].flatMap(([id, { files, bytes }]): [string, Buffer][] => {
    const inside = renamed(files, (name) => `${name} ${id}`);
    return [
      [answerKey('files', id), gzipSync(JSON.stringify(inside))],
      [inside.rollouts.name, bytes.rollouts],
      [inside.verdicts.name, bytes.verdicts],
    ];
  });
}

/** What view.html has inside: everything, or where that is too much everything but rollouts and their tokens. */
function inlineAnswers(packed: ReadonlyMap<string, Buffer>, most: number): ReadonlyMap<string, Buffer> {
  const sum = [...packed.values()].reduce((all, { length }) => all + length, 0);
  return sum <= most
    ? packed
    : new Map([...packed].filter(([key]) => !/^(?:files|rollouts\.\w+|verdicts\.\w+|tokens) /.test(key)));
}

function inlineData(packed: ReadonlyMap<string, Buffer>): string {
  const list = Object.fromEntries([...packed].map(([key, bytes]) => [key, bytes.toString('base64')]));
  return gzipSync(JSON.stringify(list), { level: 1 }).toString('base64');
}
