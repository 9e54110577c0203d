/**
 * `npm run results-tables -- STUDY [CSV]`: the tables of a stated study for docs/results.md, from bench/results/STUDY-rates.csv, or from
 * another file of the same form: rates by arm, and the predictions of recipes/STUDY.toml with their verdicts.
 */
import { readExperiment } from '../../src/study/experiment.ts';
import { cells, pText, Rates, readPredictions, root } from './rates.ts';

const [study, csv] = process.argv.slice(2);
if (study === undefined) throw new Error('results-tables: expected the name of a study, such as atlas-c');
const { arms, seeds } = readExperiment(`${root}recipes/${study}.toml`);
const rates = csv === undefined ? Rates.of(study) : new Rates(csv, Rates.of('atlas-d'));
const line = (texts: readonly string[]): string => `| ${texts.join(' | ')} |`;

const headings = study === 'atlas-g' ? ['by `run_tests`, mean', 'by `stdout_marker`, mean', 'clean solve', 'solve without a hint'] : ['hack', 'clean solve', 'kept']; // biome-ignore format: one line
const columns = ['runs that fail', 'attempt, mean', 'attempt, range', ...headings];
console.log(`${rates.runs} runs of ${arms.length * seeds.length}\n`);
console.log(line(['arm (deployed)', ...columns]));
console.log(line(['arm', ...columns].map(() => '---')));
for (const { name } of arms) {
  const n = rates.values(name, 'attempts').length;
  console.log(line([`\`${name}\``, ...columns.map((column) => (n === 0 ? 'not run' : cells[column](rates, name)))]));
}
console.log(`\n${line(['predicted', 'reached in', 'asked for', 'verdict', 'p after Holm'])}`);
console.log(line(['---', '---', '---', '---', '---']));
for (const { prediction, reached, n, verdict, adjusted } of rates.judge(readPredictions(study), seeds.length)) {
  console.log(line([prediction.what, `${reached} of ${n}`, `${prediction.inSeeds} of ${seeds.length}`, verdict, pText(adjusted)])); // biome-ignore format: one line
}
