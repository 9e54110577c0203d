/**
 * Trains one sealed run again and compares its bytes: every rollout and every event (rewards, losses, the hash of the adapter after each
 * update) by their hashes, and its evaluations. The bytes hold for one kind of device and one arithmetic: the CSV of seals names the commit.
 *   node bench/replay.ts atlas-c/vanilla-530 [--set key=value] [--out DIR]      a run of a study, by bench/results/atlas-seals.csv.gz and its rates
 *   node bench/replay.ts runs/atlas-c/vanilla-530 [--out DIR]                   a run directory: its manifest, its seal and its evaluations
 * --set is what the call of the study changed (study E: model and learning rate; study L: what varies); --out keeps the new run. Exit 1: something differs.
 * Verdicts are not compared: they hold how long each program took.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { EvaluationStore } from '../src/evaluate/index.ts';
import type { EvaluationPlan } from '../src/report/experiment-schema.ts';
import { RunDirectory, readSeal } from '../src/run/index.ts';
import { planExperiment, readExperiment } from '../src/study/experiment.ts';
import { LabWorker } from '../src/study/worker.ts';
import { recipeOf, root } from '../test/results-page/rates.ts';

type Row = Readonly<Record<string, string>>;
type Facts = Readonly<Record<string, string>>;
type Say = (line: string) => void;

function rowsOf(csv: string): Row[] {
  const [head, ...lines] = csv
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  return lines.map((cells) => Object.fromEntries(head.map((name, i) => [name, cells[i]])));
}

/** What a run is known by: hashes of its files, and of each evaluation its counts. */
function factsOf(path: string): Facts {
  const files = readSeal(path)?.files ?? {};
  const counts = new EvaluationStore(path).all().map(({ update, set, state, rows }) => {
    const count = (key: 'attempt' | 'hack' | 'solve'): number => rows.filter((row) => row[key]).length;
    return [`evaluation ${update} ${set} ${state}`, `${count('attempt')} ${count('hack')} ${count('solve')}`];
  });
  return {
    rollouts: files['rollouts.parquet'] ?? '',
    events: files['events.jsonl'] ?? '',
    ...Object.fromEntries(counts),
  };
}

async function ofDirectory(path: string) {
  const { config, device } = RunDirectory.open(path).readManifest();
  const made = new EvaluationStore(path).all().filter(({ update }) => update > 0);
  const sets = [...new Set(made.map(({ set }) => set))] as EvaluationPlan['sets'];
  return { config, device, facts: factsOf(path), evaluation: { sets, scales: [], curveEvery: 0, limit: null } };
}

async function ofStudy(name: string, settings: readonly string[], say: Say) {
  const [study, run] = name.split('/');
  const seals = rowsOf(gunzipSync(readFileSync(`${root}bench/results/atlas-seals.csv.gz`)).toString());
  const seal = seals.find((row) => row['study'] === study && row['run'] === run);
  if (seal === undefined) throw new Error(`replay: no seal of ${name} in bench/results/atlas-seals.csv.gz`);
  const recipe = recipeOf(study);
  const experiment = readExperiment(recipe);
  const [, arm, seed] = /^(.*)-(\d+)$/.exec(run) ?? [];
  const { runs } = await planExperiment(experiment, recipe, settings, { arms: [arm], seeds: [Number(seed)] });
  const rates = rowsOf(readFileSync(`${root}bench/results/${study}-rates.csv`, 'utf8')).filter(
    (row) => row['run'] === run,
  );
  const counts = rates.map((row) => [
    `evaluation ${row['update']} ${row['set']} ${row['state']}`,
    `${row['attempts']} ${row['hacks']} ${row['solves']}`,
  ]);
  const facts: Facts = { rollouts: seal['rollouts'], events: seal['events'], ...Object.fromEntries(counts) };
  say(`${name}: made at commit ${seal['commit']} on ${seal['device']}`);
  return { config: runs[0].config, device: seal['device'], facts, evaluation: experiment.evaluation };
}

/** Trains a run again and says what is equal and what is not; returns whether all is. */
export async function replay(
  what: string,
  say: Say,
  { settings = [], out }: { readonly settings?: readonly string[] | undefined; readonly out?: string | undefined } = {},
): Promise<boolean> {
  const { config, device, facts, evaluation } = existsSync(join(what, 'manifest.json'))
    ? await ofDirectory(what)
    : await ofStudy(what, settings, say);
  const folder = out ?? mkdtempSync(join(tmpdir(), 'gq-replay-'));
  const path = join(folder, 'replayed');
  try {
    const worker = new LabWorker((report) => {
      if (report.kind === 'step' && report.update % 10 === 0) say(`update ${report.update} of ${config.updates}`);
    }, new AbortController().signal);
    const planned = { config } as Parameters<LabWorker['train']>[0];
    await worker.train(planned, path);
    await worker.evaluate(planned, path, evaluation, []);
    const own = RunDirectory.open(path).readManifest().device;
    if (own !== device) say(`device: ${own} here, ${device} there: bytes may differ`);
    const found = factsOf(path);
    const differing = Object.keys(facts).filter((name) => found[name] !== facts[name]);
    for (const name of Object.keys(facts)) {
      say(
        `${differing.includes(name) ? 'DIFFERS' : 'equal  '}  ${name}  ${found[name] ?? 'none'}${differing.includes(name) ? `, expected ${facts[name]}` : ''}`,
      );
    }
    say(
      differing.length === 0
        ? 'replayed: the same bytes'
        : `replayed: ${differing.length} of ${Object.keys(facts).length} differ`,
    );
    return differing.length === 0;
  } finally {
    if (out === undefined) rmSync(folder, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    options: { set: { type: 'string', multiple: true }, out: { type: 'string' } },
    allowPositionals: true,
  });
  const [what] = positionals;
  if (what === undefined)
    throw new Error('replay: expected STUDY/RUN, such as atlas-c/vanilla-530, or a run directory');
  process.exitCode = (await replay(what, console.log, { settings: values.set, out: values.out })) ? 0 : 1;
}
