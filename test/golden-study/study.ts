/**
 * A study that was trained once and is stored with everything that the lab says about it. The files of the runs are in one archive
 * (study.br), what is said about them in answers/. Tests unpack the study, ask again and compare; only make.ts writes here.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { sha256 } from '../../src/base/node/index.ts';
import { openPage, type RunningView, startView } from '../../src/view/index.ts';
import { askView } from '../ask-view.ts';
import { pageRollouts } from '../page-rollouts.ts';
import { gq } from '../run-gq.ts';

export const home = fileURLToPath(new URL('.', import.meta.url));
export const archive = join(home, 'study.br');
export const answersFolder = join(home, 'answers');
export const studyName = 'golden-study';

/** Files by their paths, with forward slashes. */
export function readFolder(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return new Map(files.map((name) => [name.split(sep).join('/'), readFileSync(join(folder, name))]));
}

/** A line of JSON with the paths and lengths, then the bytes of all files, compressed together since they repeat each other. */
export function pack(files: ReadonlyMap<string, Buffer>): Buffer {
  const head = JSON.stringify([...files].map(([path, { length }]) => [path, length]));
  const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
  return brotliCompressSync(Buffer.concat([Buffer.from(`${head}\n`), ...files.values()]), { params });
}

/** Writes the files of the study into a folder, all with the same time, which the viewer shows as that of the last sign of life. */
export const unpackStudy = (folder: string): void => unpack(archive, folder, 1e9);

/** Writes what `pack` has packed into a folder; all files get one time, in seconds since 1970. */
export function unpack(packed: string, folder: string, seconds: number): void {
  const bytes = brotliDecompressSync(readFileSync(packed));
  let at = bytes.indexOf('\n') + 1;
  for (const [path, length] of JSON.parse(bytes.toString('utf8', 0, at)) as [string, number][]) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes.subarray(at, at + length));
    utimesSync(file, seconds, seconds);
    at += length;
  }
}

/** Everything that the lab says about the study in `folder`, by the name of the file that holds it. */
export async function askAll(folder: string): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const tell = (name: string, text: string): void => void answers.set(name, neutral(text, folder));
  const study = join(folder, studyName);
  const run = (name: string): string => join(study, name);
  const command = async (name: string, ...argv: readonly string[]): Promise<void> => {
    const { code, out, err: said } = await gq(...argv);
    // A slow machine says what it is busy with, which is not part of the answer.
    const err = said.replace(/^(?:reading .*|drawing the report)\n/gm, '');
    tell(name, `${out}${err === '' ? '' : `\nstandard error:\n${err}`}${code === 0 ? '' : `\nexit code ${code}\n`}`);
  };
  for (const format of ['text', 'markdown', 'csv', 'latex', 'json']) {
    await command(`results-${format}.txt`, 'results', study, '--format', format);
  }
  const evaluated = ['--sets', 'test-original,test-unhinted', '--limit', '16'];
  for (const name of ['activation-1', 'vanilla-2']) {
    for (const json of [[], ['--json']]) {
      const kind = json.length === 0 ? 'text' : 'json';
      await command(`gate-${name}-${kind}.txt`, 'measure', 'gate', run(name), ...json);
      await command(
        `eval-${name}-${kind}.txt`,
        'eval',
        run(name),
        ...evaluated,
        ...json,
        ...(json.length === 0 ? ['--all'] : []),
      );
    }
  }
  // The report is written beside the study, so that the viewer does not see it.
  const report = join(folder, '..', 'report.html');
  await command('report.txt', 'results', study, '--html', '--out', report);
  tell('report.html', readFileSync(report, 'utf8').replaceAll('><', '>\n<'));
  for (const [name, text] of await askViewer(folder)) tell(name, text);
  return answers;
}

/** What is neither the study nor the code: the folder it lies in, the person who looks, and how fast the machine is. */
function neutral(text: string, folder: string): string {
  const { username } = userInfo();
  return text
    .replaceAll(join(folder, '..'), '/somewhere')
    .replaceAll(/(evaluation \d+\/\d+), [\d.]+\/s/g, '$1')
    .replaceAll(`"writer":${JSON.stringify(username)}`, '"writer":"whoever looks"');
}

/** Questions to the viewer's server, by the names of their answers. The page itself and its script are code, and not asked for. */
const questions: Readonly<Record<string, string>> = {
  home: '/api/home',
  notes: '/api/notes',
  experiment: `/api/experiment?id=${studyName}`,
  labels: `/api/labels?id=${studyName}`,
  ...of('training', [studyName, `${studyName}/activation-1`]),
  ...of('run', [`${studyName}/activation-1`, `${studyName}/vanilla-2`]),
  ...of('gate', [`${studyName}/activation-1`, `${studyName}/vanilla-2`]),
  ...of('answers', [`${studyName}/activation-1`]),
  ...of('tokens', [`${studyName}/activation-1`]),
  rollout: `/api/rollout?id=${studyName}/activation-1&rollout=6-1-2`,
  'rollout-of-study': `/api/rollout?id=${studyName}&rollout=1-0-0`,
  'rollouts-of-run': `/api/rollouts?id=${studyName}/vanilla-2&limit=8`,
  'rollouts-text': `/api/rollouts?id=${studyName}&text=run_tests&limit=8`,
  'rollouts-pattern': `/api/rollouts?id=${studyName}&text=return%20%5Cw%2B&pattern=1&from=3&to=7&limit=8&offset=2`,
  'rollouts-hacks': `/api/rollouts?id=${studyName}&truth=hack&route=route&limit=8`,
  'rollouts-arm': `/api/rollouts?id=${studyName}&arm=vanilla&sampled=deployed&order=tokens&limit=8`,
  ...Object.fromEntries(
    ['surprise', 'score', 'advantage', 'reward', 'shuffled'].map((order) => [
      `rollouts-by-${order}`,
      `/api/rollouts?id=${studyName}&order=${order}&limit=6`,
    ]),
  ),
  'no-such-run': `/api/run?id=${studyName}/nobody`,
  'no-such-order': `/api/rollouts?id=${studyName}&order=colour`,
  'no-such-question': '/api/weather',
};

function of(kind: string, ids: readonly string[]): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [`${kind}-${id.split('/').at(-1)}`, `/api/${kind}?id=${id}`]));
}

async function askViewer(folder: string): Promise<Map<string, string>> {
  await using view = await startView(folder, await openPage(), { host: '127.0.0.1', port: 0 });
  const answers = new Map<string, string>();
  for (const [name, path] of Object.entries(questions)) {
    const { status, value } = await (/^\/api\/rollouts?\?/.test(path) ? askPage(view, path) : askServer(view, path));
    answers.set(`view-${name}.json`, `${path}\n${status}\n${lines(value)}\n`);
  }
  return answers;
}

async function askServer(view: RunningView, path: string): Promise<{ status: number; value: unknown }> {
  const response = await askView(view, path);
  return { status: response.status, value: await response.json() };
}

/** Rollouts are searched by the page's own code, in the runs' own files. */
async function askPage(view: RunningView, path: string): Promise<{ status: number; value: unknown }> {
  const { pathname, searchParams } = new URL(path, 'http://view');
  const [id, rollout] = [searchParams.get('id') ?? '', searchParams.get('rollout') ?? ''];
  const page = pageRollouts(view);
  const asked = pathname === '/api/rollout' ? page.rollout(id, rollout) : page.list(id, searchParams);
  return asked.then(
    (value) => ({ status: 200, value }),
    (error: Error) => ({ status: 400, value: { error: error.message } }),
  );
}

/** Lists that are longer are stored by their first entries and the hash of all. */
const longest = 60;

/** JSON with a line for every value that is no list of numbers, texts and the like; these have one line each. */
function lines(value: unknown, margin = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${margin} `;
  if (Array.isArray(value)) {
    if (value.every((each) => typeof each !== 'object' || each === null)) return JSON.stringify(value);
    const shown =
      value.length <= longest
        ? value
        : [...value.slice(0, 3), `${value.length} in all: ${sha256(JSON.stringify(value))}`];
    return `[\n${shown.map((each) => inner + lines(each, inner)).join(',\n')}\n${margin}]`;
  }
  const entries = Object.entries(value).map(([key, each]) => `${inner}${JSON.stringify(key)}:${lines(each, inner)}`);
  return entries.length === 0 ? '{}' : `{\n${entries.join(',\n')}\n${margin}}`;
}
