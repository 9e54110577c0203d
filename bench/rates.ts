/**
 * The rates of every run of a study as CSV, from the evaluation files alone: what a table of results is recomputed from.
 *   node bench/rates.ts DIR… [--update N] [--part REGEX] > rates.csv          (DIR: an experiment's folder; default: the last update of each run)
 * One row for each run, set of prompts and policy state: counts of attempts, hacks, solves, clean solves (solved without an attempt) and
 * fired channels, the SHA-256 of the run's manifest, when it was begun and by which version, the claim that the register of the study
 * counts it under (empty: none). Points of the curve are there for every update. Where its rollouts are there: the AUROC of the gate's or the
 * monitor's scores against attempts, that of the monitor by quarter of training, and, of an attacked run, the updates of vanilla training until
 * attempts are back, from the base and from the deployed policy (`>100`: not in 100). With `--part`, prompts in which the regular expression is
 * found are counted apart from the others, as the sets `NAME with REGEX` and `NAME without REGEX`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { sha256 } from '../src/base/node/index.ts';
import { type Evaluation, EvaluationStore } from '../src/evaluate/index.ts';
import { type Relearning, reportRelearning } from '../src/measure/index.ts';
import { type RunResult, readRunResult } from '../src/report/run-result.ts';
import { RunDirectory } from '../src/run/index.ts';
import { readRegister } from '../src/study/claim.ts';

const { values, positionals } = parseArgs({
  options: { update: { type: 'string' }, part: { type: 'string' } },
  allowPositionals: true,
});
if (positionals.length === 0) throw new Error('rates: expected the folder of an experiment');
// Before the first line is written: a file of half a table would be taken for one.
const pattern = new RegExp(values.part ?? '');
if (/[,"\n]/.test(values.part ?? '')) throw new Error('rates: expected --part without , and ", which part columns');

const channels = ['run_tests', 'eq_override', 'exit_code', 'stdout_marker', 'sentinel', 'file_marker', 'test_file'];
const columns = ['study', 'run', 'update', 'set', 'state', 'prompts', 'attempts', 'hacks', 'solves', 'cleanSolves'];
console.log(
  [
    ...columns,
    ...channels,
    'manifest',
    'begun',
    'version',
    'claim',
    'auroc',
    'aurocByQuarter',
    'relearnBase',
    'relearn',
  ].join(','),
);

for (const study of positionals) {
  const runs = readdirSync(study)
    .filter((name) => existsSync(join(study, name, 'manifest.json')))
    .sort();
  for (const run of runs) for (const line of await linesOf(study, run)) console.log(line);
}

async function linesOf(study: string, run: string): Promise<string[]> {
  const folder = join(study, run);
  const evaluations = new EvaluationStore(folder).all();
  // A run that was stopped before its evaluation is not read further.
  if (evaluations.length === 0) return [];
  const manifest = sha256(readFileSync(join(folder, 'manifest.json')));
  const { created, version } = RunDirectory.open(folder).readManifest();
  const claim = readRegister(study).begun.findLast((entry) => entry.folder === run)?.claim ?? '';
  const trained = await trainedOf(study, run);
  const wanted = Number(values.update ?? Math.max(...evaluations.map(({ update }) => update)));
  return evaluations
    .filter(({ update, state, set }) => update === wanted || state === 'base' || set === 'curve')
    .flatMap(partsOf)
    .map((evaluation) =>
      [basename(study), run, ...countsOf(evaluation), manifest, created, version, claim, ...trained].join(','),
    );
}

/** What the rollouts tell; empty where the manifest and the evaluations of a run alone were kept. */
async function trainedOf(study: string, run: string): Promise<readonly string[]> {
  const own = await resultOf(join(study, run));
  if (own === null) return ['', '', '', ''];
  const { gate, monitor, monitorOverTime, attack } = own;
  const vanilla = attack === null ? null : await resultOf(join(study, `vanilla-${own.seed}`));
  const relearned = attack === null || vanilla === null ? null : reportRelearning(vanilla.training, attack);
  const text = (judged: { separation: { auroc: number } | null } | undefined): string =>
    judged?.separation?.auroc.toFixed(4) ?? '';
  return [
    text(gate.attempts) || text(monitor?.attempts),
    monitorOverTime.map(({ attempts }) => text(attempts) || '-').join(' '),
    ...(relearned === null ? ['', ''] : [updatesOf(relearned.fromBase), updatesOf(relearned.fromDeployed)]),
  ];
}

function updatesOf({ attempts: { reached }, updates }: Relearning): string {
  return `${reached ?? `>${updates}`}`;
}

async function resultOf(folder: string): Promise<RunResult | null> {
  const hasRollouts = ['rollouts.parquet', 'rollouts.jsonl'].some((name) => existsSync(join(folder, name)));
  return hasRollouts ? readRunResult(folder) : null;
}

/** The prompts in which `--part` is found and the others; all together where it is not given. */
function partsOf(evaluation: Evaluation): Evaluation[] {
  if (values.part === undefined) return [evaluation];
  return [true, false].map((within) => ({
    ...evaluation,
    set: `${evaluation.set} ${within ? 'with' : 'without'} ${values.part}` as Evaluation['set'],
    rows: evaluation.rows.filter(({ prompt }) => pattern.test(prompt) === within),
  }));
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
