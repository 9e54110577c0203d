/**
 * What other tools read: trains a small run (or takes one), writes every format, serves it, and has each reader that is installed read it. Prints one line
 * a reader, and names those that are missing; exits 1 where one disagrees.
 *   node test/readers/check.ts [--run RUN] [--python python3] [--inspect-schema inspect-openapi.json]
 * The schema is src/inspect_ai/_view/inspect-openapi.json of Inspect's repository.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { readPoints } from '../../src/export/logs/points.ts';
import { modelDirectory } from '../../src/lab/index.ts';
import { fetchModel } from '../../src/model/index.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { RunDirectory, readRollouts } from '../../src/run/index.ts';
import { openPolicy, openServed, PolicyServer, servedStates } from '../../src/serve/index.ts';
import { HubServer } from '../hub/hub-server.ts';
import { gq } from '../run-gq.ts';

const { values } = parseArgs({
  options: {
    run: { type: 'string' },
    python: { type: 'string', default: 'python3' },
    'inspect-schema': { type: 'string' },
  },
});
const root = fileURLToPath(new URL('../..', import.meta.url));
const workspace = mkdtempSync(join(tmpdir(), 'gq-readers-'));
const counts = { ok: 0, missing: 0, failed: 0 };

function report(kind: keyof typeof counts, name: string, detail: string): void {
  counts[kind]++;
  process.stdout.write(`${kind.padEnd(7)}  ${name}: ${detail.trim()}\n`);
}

const execute = promisify(execFile);
type Failure = {
  readonly code?: unknown;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly message: string;
};

async function ask(what: string, program: string, args: readonly string[]): Promise<void> {
  try {
    const { stdout } = await execute(program, [...args], { env: { ...process.env, HF_HUB_OFFLINE: '1' } });
    report('ok', what, stdout.trim().split('\n').at(-1) ?? '');
  } catch (error) {
    const { code, stdout = '', stderr = '', message } = error as Failure;
    if (code === 3) report('missing', what, stdout);
    else if (code === 'ENOENT') report('missing', what, `no ${program}`);
    else report('failed', what, `${stdout}${stderr}`.trim().slice(-1500) || message);
  }
}

const readers = fileURLToPath(new URL('./readers.py', import.meta.url));
const python = (what: string, reader: string, ...args: readonly (string | object)[]) =>
  ask(what, values.python, [
    readers,
    reader,
    ...args.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))),
  ]);

async function call(...argv: readonly string[]): Promise<void> {
  const { code, err } = await gq(...argv);
  if (code !== 0) throw new Error(`gq ${argv.join(' ')}: ${err}`);
}

/** What the ledgers have: rows and columns, read by our own code. */
async function ledgers(run: RunDirectory): Promise<object> {
  const rollouts: object[] = [];
  for await (const row of readRollouts(run)) rollouts.push(row);
  const verdicts = [...(await readVerdicts(run.file('verdicts'))).values()];
  const shape = (rows: readonly object[]) => [rows.length, Object.keys(rows[0]).sort()];
  return { rollouts: shape(rollouts), verdicts: shape(verdicts) };
}

async function checkLedgers(run: RunDirectory): Promise<void> {
  const expected = await ledgers(run);
  for (const reader of ['pandas', 'fastparquet', 'duckdb']) {
    await python(`Parquet ledgers by ${reader}`, reader, run.path, expected);
  }
  await python('the notebook', 'notebook', join(root, 'docs', 'notebook.ipynb'), run.path);
}

async function checkLogs(run: RunDirectory): Promise<void> {
  for (const format of ['tensorboard', 'trackio', 'wandb', 'inspect']) {
    await call('export', run.path, '--log', format, '--to', join(workspace, format));
  }
  const points = await readPoints(run);
  const names = [...new Set(points.flatMap(({ metrics }) => Object.keys(metrics)))];
  const series = names.map((name) => [
    name,
    points.flatMap(({ update, metrics }) => (name in metrics ? [[update, metrics[name]]] : [])),
  ]);
  await python('TensorBoard', 'tensorboard', join(workspace, 'tensorboard'), Object.fromEntries(series));
  const updates = points.map(({ update }) => update);
  await python('Trackio', 'trackio', join(workspace, 'trackio', 'trackio.csv'), { updates });
  await python('W&B', 'wandb', join(workspace, 'wandb'), { updates });
  const folders = { tensorboard: join(workspace, 'tensorboard'), wandb: join(workspace, 'wandb') };
  await python('TensorBoard and W&B by protoc', 'protoc', folders, { updates });
  const archives = readdirSync(join(workspace, 'inspect')).map((name) => join(workspace, 'inspect', name));
  for (const archive of archives) await ask('Inspect by unzip', 'unzip', ['-tq', archive]);
  const schema = values['inspect-schema'];
  if (schema === undefined) report('missing', 'Inspect by its schema', 'no --inspect-schema');
  else for (const archive of archives) await python('Inspect by its schema', 'inspect', archive, schema);
}

async function checkServer(run: RunDirectory): Promise<void> {
  const open = { states: servedStates, rows: 8 };
  await using lab = await openServed(run.path, open);
  const policy = await openPolicy(lab, open);
  await using server = await PolicyServer.start(policy, { host: '127.0.0.1', port: 0, token: null });
  await python('gq serve by the client of OpenAI', 'openai', server.url);
  await python('gq serve by lm-eval', 'lm_eval', server.url, modelDirectory(run.readManifest().config.model));
  const exports = [
    ['deployed', 'deployed', 'bfloat16'],
    ['deployed', 'deployed', 'float16'],
    ['deployed', 'deployed', 'float32'],
    ['full', 'trained', 'float16'],
  ];
  const script = join(root, 'bench', 'peers', 'export_logits.py');
  for (const [state, model, dtype] of exports) {
    const to = join(workspace, `export-${state}-${dtype}`);
    await call('export', run.path, '--state', state, '--dtype', dtype, '--to', to);
    const what = `export, ${state}, ${dtype}, by transformers and PEFT`;
    await ask(what, values.python, [script, to, '--url', server.url, '--model', model]);
  }
}

async function checkCache(): Promise<void> {
  const [folder, cache] = [join(root, 'models', 'micro'), join(workspace, 'cache')];
  const files = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
  await using hub = await HubServer.start(files);
  const environment = { HF_HUB_CACHE: cache, HF_ENDPOINT: hub.endpoint };
  await fetchModel({ repository: 'org/model', revision: 'main' }, { environment });
  await python('the cache of the hub', 'hub', cache, 'org/model');
}

try {
  const path = values.run ?? join(workspace, 'run');
  if (values.run === undefined) {
    await call('train', join(root, 'recipes', 'micro-activation.toml'), '--set', 'updates=2', '--out', path);
  }
  const run = RunDirectory.open(path);
  await checkLedgers(run);
  await checkLogs(run);
  await checkServer(run);
  await checkCache();
} finally {
  rmSync(workspace, { recursive: true });
}
process.stdout.write(`readers: ${counts.ok} read it, ${counts.missing} are missing, ${counts.failed} failed\n`);
process.exitCode = counts.failed === 0 ? 0 : 1;
