/** `gq demo`: vanilla, the activation gate and its placebo from the shipped base, then the story and report.html. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellLine, wrapText } from '../../base/index.ts';
import { coresEach } from '../../lab/index.ts';
import type { Experiment } from '../../report/experiment-schema.ts';
import { allFigures, describeResults, resultsJson, tellStory, writeFigures, writeReport } from '../../report/index.ts';
import { openResults } from '../../study/claim-progress.ts';
import { checkExperiment, type ExperimentPlan, planExperiment } from '../../study/experiment.ts';
import { runsLeft } from '../../study/run.ts';
import { type CommandContext, command, flag, repeated, whole, word } from '../command.ts';
import { jsonText, sameCall } from '../shared.ts';
import { screenWidth } from '../terminal/screen.ts';
import { formatDuration } from '../terminal/step-table.ts';
import { executeExperiment } from './experiment.ts';
import { warnIncomplete } from './results.ts';

const recipes = fileURLToPath(new URL('../../../recipes', import.meta.url));
const quickUpdates = 40;
const quickPrompts = 64;

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
    const plan = await planExperiment(experiment, join(recipes, 'demo.toml'), set);
    const directory = out ?? join('runs', `${experiment.name}-${seed}`);
    // With --json, stdout holds the one value and nothing else.
    const shown: CommandContext = json ? { ...context, stdout: context.stderr } : context;
    const done = await executeExperiment(plan, directory, { jobs: await demoJobs(plan, directory) }, shown);
    context.exitCode = shown.exitCode;
    if (!done) return;
    const results = await openResults(directory);
    const width = screenWidth(shown.stdout);
    const story = tellStory(results, 'activation', width) ?? wrapText(describeResults(results).join('\n'), width);
    shown.stdout.write(`\n${story}\n`);
    warnIncomplete(directory, results, shown);
    const report = join(directory, 'report.html');
    const commands = [
      sameCall(context),
      shellLine('gq', 'results', directory),
      shellLine('gq', 'results', directory, '--html'),
      ...plan.runs.map(({ folder }) => shellLine('gq', 'measure', 'gate', join(directory, folder))),
    ];
    await writeReport(report, results, { title: `The micro lab, seed ${seed}`, commands, force: true });
    const { warnings } = await writeFigures(await allFigures(results), join(directory, 'figures'), { force: true });
    for (const warning of warnings) context.stderr.write(`${warning}\n`);
    const seconds = (performance.now() - started) / 1000;
    if (json) {
      return void context.stdout.write(jsonText({ directory, report, seconds, results: resultsJson(results) }));
    }
    context.stdout.write(`\n${report}: tables, figures, rollouts. ${formatDuration(seconds)} in all.\n`);
    context.stdout.write(`To look at it in a browser: ${shellLine('gq', 'view', directory)}\n`);
    // In a clone there is no gq on the PATH.
    if (process.env['npm_lifecycle_event'] === 'demo') context.stdout.write('Here the command gq is called: npx gq\n');
  },
});

export function demoExperiment(seed: number, quick: boolean): Experiment {
  const arms = ['vanilla', 'activation', 'haar'];
  return checkExperiment(
    {
      name: quick ? 'demo-quick' : 'demo',
      why: 'Does a gate built from a few pairs remove the hack at deployment, more than a random one does?',
      seeds: [seed],
      evaluation: quick
        ? { sets: ['test-novel', 'test-original'], curveEvery: 0, limit: quickPrompts }
        : { curveEvery: 20 },
      set: quick ? [`updates=${quickUpdates}`] : [],
      arms: arms.map((name) => ({ name, recipe: `micro-${name}.toml` })),
    },
    'demo',
  );
}

/** All that are left: a run leaves its core alone while programs are graded. A GPU, and a core alone, serve one run. */
export async function demoJobs(plan: ExperimentPlan, directory: string): Promise<number> {
  const onProcessor = plan.runs.every(({ config }) => config.device.kind === 'wasm');
  if (!onProcessor || coresEach(1) === 1) return 1;
  return Math.max(1, (await runsLeft(plan, directory)).length);
}
