/** What the viewer shows as files: a folder for any web server, and view.html, which opens from disk. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { messageOf } from '../base/index.ts';
import { readRegular, writeFileAtomic } from '../base/node/index.ts';
import { isRun, RunDirectory } from '../run/index.ts';
import { isHidden } from '../study/directory.ts';
import type { RunFiles } from './api.ts';
import { type PageKind, ViewLibrary } from './library.ts';
import { type PageFiles, pageHtml, wholePage } from './page-files.ts';
import { runFiles } from './run-files.ts';

export interface WrittenBundle {
  readonly files: number;
  readonly runs: number;
  readonly wholeBytes: number;
  readonly leftOut: readonly { readonly page: string; readonly why: string }[];
}

/** Bytes of answers that one file may have inside: more would be too long for one text, and for most browsers. */
const usualInline = 200_000_000;
const mostNamed = 3;

export async function writeBundle(
  root: string,
  target: string,
  page: PageFiles,
  onPage: (page: string) => void = () => undefined,
  mostInline = usualInline,
): Promise<WrittenBundle> {
  const library = new ViewLibrary(root);
  const leftOut: { page: string; why: string }[] = [];
  const blind = new Set<string>();
  /** What the page asks by which key: the name of a file, or of the tables of a run. Numbers and not ids, which may hold any character. */
  const list: Record<string, string | RunFiles> = {};
  const data = new Map<string, Buffer>();
  for (const { kind, id, path } of questionsOf(library)) {
    const key = `${kind} ${id}`;
    onPage(key);
    try {
      const value = await library.answer(kind, new URLSearchParams({ id }));
      const name = `data/${data.size}`;
      if (kind === 'files') list[key] = copyTables(path, `${name}-`, data);
      else {
        list[key] = `${name}.json.gz`;
        data.set(list[key], gzipSync(JSON.stringify(value)));
      }
    } catch (error) {
      if (isHidden(path)) blind.add(id);
      else leftOut.push({ page: key, why: messageOf(error) });
    }
  }
  if (blind.size > 0) leftOut.push({ page: blindWords([...blind]), why: blindReason });
  const isWhole = [...data.values()].reduce((sum, { length }) => sum + length, 0) <= mostInline;
  if (!isWhole) {
    const why = `it would have more than ${mostInline / 1e6} MB inside, so it is without rollouts; the folder has them`;
    leftOut.push({ page: 'view.html', why });
  }
  const inside = Object.entries(list).filter(([key]) => isWhole || !/^(?:files|tokens) /.test(key));
  const whole = wholePage(page, inlineData(Object.fromEntries(inside), data));
  const files = new Map<string, string | Buffer>([
    ['index.html', pageHtml('folder')],
    ['app.js', page.script],
    ['app.css', page.style],
    ['view.html', whole],
    [listName, JSON.stringify(list)],
    ...data,
  ]);
  mkdirSync(join(target, 'data'), { recursive: true });
  for (const [name, content] of files) await writeFileAtomic(join(target, name), content);
  const shown = Object.keys(list).filter((key) => key.startsWith('run ')).length;
  return { files: files.size, runs: shown, wholeBytes: Buffer.byteLength(whole), leftOut };
}

const listName = 'data/list.json';
const blindReason = 'what became of them is not shown before their claim is opened (gq claim open)';

function blindWords(ids: readonly string[]): string {
  const rest = ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : '';
  return `${ids.length} blind ${ids.length === 1 ? 'run' : 'runs'} (${ids.slice(0, mostNamed).join(', ')}${rest})`;
}

function questionsOf(library: ViewLibrary): { kind: PageKind; id: string; path: string }[] {
  const ofRun: readonly PageKind[] = ['run', 'gate', 'answers', 'files', 'labels', 'tokens'];
  const ofExperiment: readonly PageKind[] = ['experiment', 'labels', 'training'];
  return [
    ...(['home', 'notes'] as const).map((kind) => ({ kind, id: '', path: library.root })),
    ...library.entries().flatMap(({ kind, id, path }) => {
      const kinds = kind === 'experiment' ? ofExperiment : isRun(path) ? ofRun : [];
      return kinds.map((own) => ({ kind: own, id, path }));
    }),
  ];
}

function copyTables(path: string, prefix: string, data: Map<string, Buffer>): RunFiles {
  const files = runFiles(RunDirectory.open(path), (name) => `${prefix}${name}`);
  for (const { name, bytes } of [files.rollouts, files.verdicts]) {
    data.set(name, readRegular(join(path, name.slice(prefix.length))).subarray(0, bytes));
  }
  return files;
}

/** The files that a list names, and the list itself, as one text. */
function inlineData(list: Readonly<Record<string, string | RunFiles>>, data: ReadonlyMap<string, Buffer>): string {
  const names = Object.values(list).flatMap((own) =>
    typeof own === 'string' ? [own] : [own.rollouts.name, own.verdicts.name],
  );
  const packed = names.map((name) => [name, data.get(name)?.toString('base64')]);
  const listed = [listName, Buffer.from(JSON.stringify(list)).toString('base64')];
  return gzipSync(JSON.stringify(Object.fromEntries([listed, ...packed])), { level: 1 }).toString('base64');
}
