/** `gq demo`: vanilla, the gate with the own mean and its placebo from the shipped base, then the story and report.html. */
import { join } from 'node:path';
import { turnsOf, visible, wrapText } from '../../base/index.ts';
import { asTyped, gqLine } from '../../base/node/own-program.ts';
import type { EvaluationRow } from '../../evaluate/index.ts';
import { coresEach } from '../../lab/index.ts';
import type { Experiment } from '../../report/experiment-schema.ts';
import {
  allFigures,
  bestSide,
  describeResults,
  exampleWords,
  isJudged,
  moreSeeds,
  outcomeWords,
  type Results,
  resultsJson,
  tellStory,
  writeFigures,
  writeReport,
} from '../../report/index.ts';
import { shippedRecipe } from '../../run/index.ts';
import { openResults } from '../../study/claim-progress.ts';
import { type ExperimentPlan, planExperiment, readExperiment } from '../../study/experiment.ts';
import { runsLeft } from '../../study/run.ts';
import { type CommandContext, command, flag, repeated, whole, word } from '../command.ts';
import { jsonText, sameCall } from '../shared.ts';
import { screenWidth } from '../terminal/screen.ts';
import { formatDuration } from '../terminal/step-table.ts';
import { executeExperiment } from './experiment.ts';
import { warnIncomplete } from './results.ts';

const gate = 'activation';

export const demoCommand = command({
  options: {
    quick: flag('use 40 updates and fewer prompts, to see that everything works'),
    seed: whole('<n>', 'seed of everything random', { least: 0, usual: 1 }),
    out: word(
      '<dir>',
      'folder for the runs and the report; runs/demo-SEED when absent, runs/demo-quick-SEED with --quick',
    ),
    set: repeated('<key=value>', 'change one key of every config'),
    json: flag('print {directory, report, results} instead of the story'),
  },
  examples: ['gq demo', 'gq demo --quick', 'gq demo --seed 2 --out runs/second'],
  exits: { 75: 'interrupted: what is finished is kept, and the same call goes on' },
  async run({ quick, seed, out, set, json }, context) {
    const started = performance.now();
    const experiment = demoExperiment(seed, quick);
    const plan = await planExperiment(experiment, demoRecipe(quick), set);
    const directory = out ?? join('runs', `${experiment.name}-${seed}`);
    // With --json, stdout holds the one value and nothing else.
    const shown: CommandContext = json ? { ...context, stdout: context.stderr } : context;
    const done = await executeExperiment(plan, directory, { jobs: await demoJobs(plan, directory) }, shown);
    context.exitCode = shown.exitCode;
    if (!done) return;
    const results = await openResults(directory);
    const width = screenWidth(shown.stdout);
    const story = tellStory(results, gate, width) ?? wrapText(describeResults(results).join('\n'), width);
    shown.stdout.write(`\n${asTyped(story)}\n${twoAnswers(results, width)}`);
    warnIncomplete(directory, results, shown);
    const report = join(directory, 'report.html');
    const commands = [sameCall(context), ...reportCommands(results, directory)];
    await writeReport(report, results, { title: `The micro lab, seed ${seed}`, commands, force: true });
    const { warnings } = await writeFigures(await allFigures(results), join(directory, 'figures'), { force: true });
    for (const warning of warnings) context.stderr.write(`${warning}\n`);
    const seconds = (performance.now() - started) / 1000;
    if (json) {
      return void context.stdout.write(jsonText({ directory, report, seconds, results: resultsJson(results) }));
    }
    context.stdout.write(`\n${report}: tables, figures, rollouts. ${formatDuration(seconds)} in all.\n`);
    const next: [words: string[], why: string][] = [
      [['view', directory], 'look at it in a browser'],
      [['results', directory], 'the tables'],
      ...(await hackedRuns(results)).map((run): [string[], string] => [
        ['show', run, '--hack', '--limit', '1'],
        'a hack that was paid in training',
      ]),
    ];
    const lines = [
      ...next.map(([words, why]) => [gqLine(...words), why]),
      ...moreSeeds(results).map((call) => [asTyped(call), 'do other seeds come out the same? Six, for a claim']),
    ];
    context.stdout.write(`Next:\n${lines.map(([call, why]) => `  ${call}   # ${why}\n`).join('')}`);
  },
});

/** What shows again what the report shows, each where it has something to say. */
export const reportCommands = (results: Results, directory: string): string[] => [
  gqLine('results', directory),
  gqLine('results', directory, '--html'),
  ...results.arms.flatMap(({ runs }) => runs.filter(isJudged).map(({ path }) => gqLine('measure', 'gate', path))),
];

/** Of the package's recipe, for one seed. */
export const demoExperiment = (seed: number, quick: boolean): Experiment => ({
  ...readExperiment(demoRecipe(quick)),
  seeds: [seed],
});

const demoRecipe = (quick: boolean): string => shippedRecipe(quick ? 'demo-quick' : 'demo');

/** The example of the report, both states beside each other; nothing where nothing is attempted as trained. */
export function twoAnswers(results: Results, width: number): string {
  const side = bestSide(results);
  if (side === null || !side.full.attempt) return '';
  const question = visible(
    turnsOf(side.full.prompt)
      .map(({ content }) => content)
      .join('\n')
      .trim(),
  );
  const column = Math.floor((width - 2) / 2);
  const linesOf = (state: string, row: EvaluationRow): string[] =>
    [`${state}: ${outcomeWords(row)}`, ...visible(row.completion).trim().split('\n')].map((line) =>
      line.slice(0, column),
    );
  const [left, right] = [linesOf('as trained', side.full), linesOf('deployed', side.deployed)];
  const rows = Array.from({ length: Math.max(left.length, right.length) }, (_, i) =>
    `${(left[i] ?? '').padEnd(column)}  ${right[i] ?? ''}`.trimEnd(),
  );
  return `\n${wrapText(exampleWords(side), width)}\n${wrapText(question, width)}\n\n${rows.join('\n')}\n`;
}

/** Runs of the baseline, which has no remedy, that were paid for a hack while they trained. */
export async function hackedRuns({ arms, baseline }: Results): Promise<string[]> {
  const runs = arms.filter(({ arm }) => arm === baseline).flatMap((one) => one.runs);
  const found = await Promise.all(
    runs.map(async ({ path, rollouts }) => ((await rollouts()).some(({ hack }) => hack) ? [path] : [])),
  );
  return found.flat();
}

/** All that are left: a run leaves its core alone while programs are graded. A GPU, and a core alone, serve one run. */
export async function demoJobs(plan: ExperimentPlan, directory: string): Promise<number> {
  const onProcessor = plan.runs.every(({ config }) => config.device.kind === 'wasm');
  if (!onProcessor || coresEach(1) === 1) return 1;
  return Math.max(1, (await runsLeft(plan, directory)).length);
}
