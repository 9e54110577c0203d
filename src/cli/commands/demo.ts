/**
 * `gq demo`: the whole experiment in minutes. It trains vanilla, the activation gate and its placebo from the shipped base with the same
 * seed and prompts, side by side where there are cores, tells on one screen what came out, and writes report.html.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { wrapText } from '../../base/index.ts';
import { coresEach } from '../../lab/index.ts';
import {
  allFigures,
  describeResults,
  resultsJson,
  shellLine,
  tellStory,
  writeFigures,
  writeReport,
} from '../../report/index.ts';
import {
  checkExperiment,
  type Experiment,
  type ExperimentPlan,
  openResults,
  planExperiment,
  runsLeft,
} from '../../study/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { warnIncomplete } from '../print-results.ts';
import { screenWidth } from '../terminal/screen.ts';
import { formatDuration } from '../terminal/step-table.ts';
import { collect, parseWholeNumber } from '../values.ts';
import { executeExperiment } from './experiment.ts';

interface DemoOptions {
  readonly quick?: true;
  readonly seed: string;
  readonly out?: string;
  readonly set: readonly string[];
  readonly json?: true;
}

const recipes = fileURLToPath(new URL('../../../recipes', import.meta.url));
const quickUpdates = 40;
const quickPrompts = 64;

export function configureDemo(command: Command, context: CommandContext): void {
  command
    .option('--quick', 'use 40 updates and fewer prompts, to see that everything works')
    .option('--seed <n>', 'seed of everything random', '1')
    .option(
      '--out <dir>',
      'folder for the runs and the report; runs/demo-SEED when absent, runs/demo-quick-SEED with --quick',
    )
    .option('--set <key=value>', 'change one key of every config; may be repeated', collect, [])
    .option('--json', 'print {directory, report, results} instead of the story')
    .addHelpText('after', examplesText('gq demo', 'gq demo --quick', 'gq demo --seed 2 --out runs/second'))
    .action((options: DemoOptions) => runDemo(options, context));
}

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

/**
 * Number of runs at a time: all that are left, even with fewer cores, because a run leaves its core alone while its programs are graded
 * and because runs that share the cores end together. One core has nothing to share, and a GPU serves one run.
 */
export async function demoJobs(plan: ExperimentPlan, directory: string): Promise<number> {
  const onProcessor = plan.runs.every(({ config }) => config.device.kind === 'wasm');
  if (!onProcessor || coresEach(1) === 1) return 1;
  return Math.max(1, (await runsLeft(plan, directory)).length);
}

async function runDemo(options: DemoOptions, context: CommandContext): Promise<void> {
  const started = performance.now();
  const seed = parseWholeNumber(options.seed, '--seed');
  const experiment = demoExperiment(seed, options.quick === true);
  const plan = await planExperiment(experiment, join(recipes, 'demo.toml'), options.set);
  const directory = options.out ?? join('runs', `${experiment.name}-${seed}`);
  const settings = options.set.flatMap((setting) => ['--set', setting]);
  const quick = options.quick ? ['--quick'] : [];
  const command = shellLine('gq', 'demo', ...quick, '--seed', `${seed}`, '--out', directory, ...settings);
  // With --json, stdout holds the one value and nothing else.
  const told: CommandContext = options.json ? { ...context, stdout: context.stderr } : context;
  const done = await executeExperiment(
    plan,
    directory,
    { again: command, jobs: await demoJobs(plan, directory) },
    told,
  );
  context.exitCode = told.exitCode;
  if (!done) return;
  const results = await openResults(directory);
  const width = screenWidth(told.stdout);
  const story = tellStory(results, 'activation', width) ?? wrapText(describeResults(results).join('\n'), width);
  told.stdout.write(`\n${story}\n`);
  warnIncomplete(directory, results, told);
  const report = join(directory, 'report.html');
  const commands = [
    command,
    shellLine('gq', 'results', directory),
    shellLine('gq', 'report', directory),
    ...plan.runs.map(({ folder }) => shellLine('gq', 'gate', join(directory, folder))),
  ];
  await writeReport(report, results, { title: `The micro lab, seed ${seed}`, commands, force: true });
  const { warnings } = await writeFigures(await allFigures(results), join(directory, 'figures'), { force: true });
  for (const warning of warnings) context.stderr.write(`${warning}\n`);
  const seconds = (performance.now() - started) / 1000;
  if (options.json) {
    const value = { directory, report, seconds, results: resultsJson(results) };
    context.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
    return;
  }
  context.stdout.write(`\n${report}: tables, figures, rollouts. ${formatDuration(seconds)} in all.\n`);
  context.stdout.write(`To look at it in a browser: ${shellLine('gq', 'view', directory)}\n`);
  // In a clone there is no gq on the PATH.
  if (process.env['npm_lifecycle_event'] === 'demo') context.stdout.write('Here the command gq is called: npx gq\n');
}
