/** What the viewer shows as files: a folder for any web server, and view.html, which opens from disk. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readRegular, writeFileAtomic } from '../base/node/index.ts';
import { RunDirectory } from '../run/index.ts';
import { isHidden } from '../study/directory.ts';
import type { RunFiles } from './api.ts';
import { existsManifest } from './catalogue.ts';
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

type Bytes = Map<string, Buffer>;

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
  const answers: Bytes = new Map();
  const runs = new Map<string, RunFiles>();
  const tables: Bytes = new Map();
  for (const { kind, id, path } of questionsOf(library)) {
    const key = `${kind} ${id}`;
    onPage(key);
    try {
      const value = await library.answer(kind, new URLSearchParams({ id }));
      if (kind === 'files') runs.set(key, copyTables(path, `data/run-${runs.size}-`, tables));
      else answers.set(key, gzipSync(JSON.stringify(value)));
    } catch (error) {
      if (isHidden(path)) blind.add(id);
      else leftOut.push({ page: key, why: error instanceof Error ? error.message : String(error) });
    }
  }
  if (blind.size > 0) leftOut.push({ page: blindWords([...blind]), why: blindReason });
  const { inside, isWhole } = inlineAnswers(answers, runs, tables, mostInline);
  if (!isWhole) {
    const why = `it would have more than ${mostInline / 1e6} MB inside, so it is without rollouts; the folder has them`;
    leftOut.push({ page: 'view.html', why });
  }
  const whole = wholePage(page, inlineData(inside));
  const numbered = [...answers].map(([key, bytes], i) => ({ key, bytes, name: `data/${i}.json.gz` }));
  // Numbers and not ids, which may hold any character.
  const list = Object.fromEntries<string | RunFiles>([
    ...numbered.map(({ key, name }) => [key, name] as const),
    ...runs,
  ]);
  const files = new Map<string, string | Buffer>([
    ['index.html', pageHtml('folder')],
    ['app.js', page.script],
    ['app.css', page.style],
    ['view.html', whole],
    ['data/list.json', JSON.stringify(list)],
    ...numbered.map(({ name, bytes }) => [name, bytes] as const),
    ...tables,
  ]);
  mkdirSync(join(target, 'data'), { recursive: true });
  for (const [name, content] of files) await writeFileAtomic(join(target, name), content);
  const shown = [...answers.keys()].filter((key) => key.startsWith('run ')).length;
  return { files: files.size, runs: shown, wholeBytes: Buffer.byteLength(whole), leftOut };
}

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
      const kinds = kind === 'experiment' ? ofExperiment : existsManifest(path) ? ofRun : [];
      return kinds.map((own) => ({ kind: own, id, path }));
    }),
  ];
}

function copyTables(path: string, prefix: string, tables: Bytes): RunFiles {
  const files = runFiles(RunDirectory.open(path), (name) => `${prefix}${name}`);
  for (const { name, bytes } of [files.rollouts, files.verdicts]) {
    tables.set(name, readRegular(join(path, name.slice(prefix.length))).subarray(0, bytes));
  }
  return files;
}

function inlineAnswers(answers: Bytes, runs: ReadonlyMap<string, RunFiles>, tables: Bytes, most: number) {
  const files = [...runs].map(([key, value]) => [key, gzipSync(JSON.stringify(value))] as const);
  const all: Bytes = new Map([...answers, ...files, ...tables]);
  const sum = [...all.values()].reduce((total, { length }) => total + length, 0);
  if (sum <= most) return { inside: all, isWhole: true };
  return { inside: new Map([...answers].filter(([key]) => !key.startsWith('tokens '))), isWhole: false };
}

function inlineData(packed: Bytes): string {
  const list = Object.fromEntries([...packed].map(([key, bytes]) => [key, bytes.toString('base64')]));
  return gzipSync(JSON.stringify(list), { level: 1 }).toString('base64');
}
