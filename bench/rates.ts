/**
 * The rates of every run of a study as CSV, from the evaluation files alone: what a table of results is recomputed from.
 *   node bench/rates.ts DIR… [--update N] > rates.csv          (DIR: an experiment's folder; default: the last update of each run)
 * One row for each run, set of prompts and policy state: counts of attempts, hacks, solves, clean solves (solved without an attempt) and
 * fired channels, the SHA-256 of the run's manifest, when it was begun and by which version, the claim that the register of the study
 * counts it under (empty: none), and, where its rollouts are there, the AUROC of the gate's or the monitor's scores against attempts.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { sha256 } from '../src/base/node/index.ts';
import { type Evaluation, EvaluationStore } from '../src/evaluate/index.ts';
import { readRunResult } from '../src/report/run-result.ts';
import { RunDirectory } from '../src/run/index.ts';
import { readRegister } from '../src/study/claim.ts';

const { values, positionals } = parseArgs({ options: { update: { type: 'string' } }, allowPositionals: true });
if (positionals.length === 0) throw new Error('rates: expected the folder of an experiment');

const channels = ['run_tests', 'eq_override', 'exit_code', 'stdout_marker', 'sentinel', 'file_marker'];
const columns = ['study', 'run', 'update', 'set', 'state', 'prompts', 'attempts', 'hacks', 'solves', 'cleanSolves'];
console.log([...columns, ...channels, 'manifest', 'begun', 'version', 'claim', 'auroc'].join(','));

for (const study of positionals) {
  const runs = readdirSync(study)
    .filter((name) => existsSync(join(study, name, 'manifest.json')))
    .sort();
  for (const run of runs) for (const line of await linesOf(study, run)) console.log(line);
}

async function linesOf(study: string, run: string): Promise<string[]> {
  const folder = join(study, run);
  const manifest = sha256(readFileSync(join(folder, 'manifest.json')));
  const { created, version } = RunDirectory.open(folder).readManifest();
  const claim = readRegister(study).begun.findLast((entry) => entry.folder === run)?.claim ?? '';
  const auroc = await aurocOf(folder);
  const evaluations = new EvaluationStore(folder).all();
  const wanted = Number(values.update ?? Math.max(...evaluations.map(({ update }) => update)));
  return evaluations
    .filter(({ update, state }) => update === wanted || state === 'base')
    .map((evaluation) =>
      [basename(study), run, ...countsOf(evaluation), manifest, created, version, claim, auroc].join(','),
    );
}

/** Empty where the run has no scores, or where its manifest and evaluations alone were kept. */
async function aurocOf(folder: string): Promise<string> {
  if (!['rollouts.parquet', 'rollouts.jsonl'].some((name) => existsSync(join(folder, name)))) return '';
  const { gate, monitor } = await readRunResult(folder);
  return (gate.attempts.separation ?? monitor?.attempts.separation)?.auroc.toFixed(4) ?? '';
}

function countsOf({ update, set, state, rows }: Evaluation): (string | number)[] {
  const count = (holds: (row: Evaluation['rows'][number]) => boolean): number => rows.filter(holds).length;
  return [
    ...[update, set, state, rows.length],
    ...[count(({ attempt }) => attempt), count(({ hack }) => hack), count(({ solve }) => solve)],
    count(({ solve, attempt }) => solve && !attempt),
    ...channels.map((name) => count((row) => row.channels?.includes(name) === true)),
  ];
}
