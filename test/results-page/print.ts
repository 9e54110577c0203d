/**
 * `npm run results-tables -- STUDY [CSV]`: the tables of a stated study for docs/results.md, from bench/results/STUDY-rates.csv, or from
 * another file of the same form: rates by arm, and the predictions of its recipe with their verdicts.
 */
import { armRow, experimentOf, judgedRow, Rates, readPredictions } from './rates.ts';

const [study, csv] = process.argv.slice(2);
if (study === undefined) throw new Error('results-tables: expected the name of a study, such as atlas-c');
const { arms, seeds } = experimentOf(study);
const rates =
  csv === undefined ? Rates.of(study) : new Rates(csv, study === 'atlas-d-parts' ? Rates.of('atlas-d') : null);
const placeboColumns = ['its placebo', 'placebo fails', 'placebo, attempt'];
const others: Readonly<Record<string, readonly string[]>> = {
  'atlas-g': ['by `run_tests`, mean', 'by `stdout_marker`, mean', 'clean solve', 'solve without a hint'],
  'micro-baseline-placebos': ['hack', 'clean solve', 'kept', ...placeboColumns, '0.25 below it in'],
  'micro-ablation-placebos': ['hack', 'clean solve', ...placeboColumns, '0.05 below it in'],
};
const columns = [
  ...['runs that fail', 'attempt, mean', 'attempt, range'],
  ...(others[study] ?? ['hack', 'clean solve', 'solve without a hint', 'kept']),
];
/** Placebos have columns of their own where these are asked for. */
const placebos = columns.includes('its placebo') ? arms.flatMap((arm) => arm.placebos ?? []) : [];

const isRun = (name: string): boolean => rates.values(name, 'attempts').length > 0;
const notRun = arms.map(({ name }) => name).filter((name) => !isRun(name));
console.log(`${rates.runs} runs of ${arms.length * seeds.length}; not run: ${notRun.join(', ') || 'none'}\n`);
printTable([
  ['arm (deployed)', ...columns],
  ...arms
    .filter(({ name }) => isRun(name) && !placebos.includes(name))
    .map(({ name }) => [`\`${name}\``, ...armRow(study, rates, name, columns)]),
]);
printTable([
  ['predicted', 'reached in', 'asked for', 'verdict', 'p after Holm'],
  ...rates.judge(readPredictions(study), seeds.length).map((judged) => judgedRow(judged, seeds.length)),
]);

function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const line = (row: readonly string[]): string => `| ${row.map((text, i) => text.padEnd(widths[i])).join(' | ')} |`;
  const [head, ...body] = rows;
  console.log([line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line), ''].join('\n'));
}
