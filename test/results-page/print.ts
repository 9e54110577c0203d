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
const others =
  study === 'atlas-g'
    ? ['by `run_tests`, mean', 'by `stdout_marker`, mean', 'clean solve', 'solve without a hint']
    : ['hack', 'clean solve', 'solve without a hint', 'kept'];
const columns = ['runs that fail', 'attempt, mean', 'attempt, range', ...others];

console.log(`${rates.runs} runs of ${arms.length * seeds.length}\n`);
printTable([
  ['arm (deployed)', ...columns],
  ...arms.map(({ name }) => [`\`${name}\``, ...armRow(rates, name, columns)]),
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
