/** `gq experiment RECIPE`: arms × seeds to completion on this machine; interrupted, it goes on where it stopped. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { UserError } from '../base/errors.ts';
import { writeExperiment } from '../sweep/directory.ts';
import { type Experiment, type ExperimentPlan, planExperiment, readExperiment } from '../sweep/experiment.ts';
import { runExperiment } from '../sweep/run-experiment.ts';
import { type CommandContext, examplesText } from './command.ts';
import { LabWorker } from './experiment-worker.ts';
import { collect, wholeNumber } from './values.ts';

interface ExperimentOptions {
  readonly out?: string;
  readonly set: readonly string[];
  readonly seeds?: string;
  readonly arms?: string;
  readonly dryRun?: true;
}

export function configureExperiment(command: Command, context: CommandContext): void {
  command
    .argument('<recipe>', 'a TOML file of arms and seeds')
    .option('--out <dir>', "the experiment's directory; runs/NAME when absent")
    .option('--set <key=value>', 'change one key of every config; may be repeated', collect, [])
    .option('--seeds <list>', 'other seeds than the recipe names, e.g. 1,2,3')
    .option('--arms <list>', 'only these arms of the recipe')
    .option('--dry-run', 'list the runs and stop')
    .addHelpText(
      'after',
      examplesText(
        'gq experiment recipes/micro-claim.toml',
        'gq experiment recipes/micro-claim.toml --seeds 1 --arms vanilla,activation,haar --out runs/look',
      ),
    )
    .action((recipe: string, options: ExperimentOptions) => runCommand(recipe, options, context));
}

async function runCommand(recipe: string, options: ExperimentOptions, context: CommandContext): Promise<void> {
  const plan = planExperiment(narrow(readExperiment(recipe), options), recipe, options.set);
  const directory = options.out ?? join('runs', plan.experiment.name);
  if (options.dryRun) {
    const lines = plan.runs.map(
      ({ folder, config, configHash }) => `${folder}  ${config.updates} updates  config ${configHash.slice(0, 12)}`,
    );
    context.stdout.write(`${[directory, ...lines].join('\n')}\n`);
    return;
  }
  await executeExperiment(plan, directory, `gq experiment ${recipe} --out ${directory}`, context);
}

/** False when it was interrupted: the context then says how to go on. */
export async function executeExperiment(
  plan: ExperimentPlan,
  directory: string,
  again: string,
  context: CommandContext,
): Promise<boolean> {
  await writeExperiment(directory, plan);
  const { end, tripped } = await runExperiment(plan, directory, new LabWorker(plan, context));
  for (const run of tripped) context.stderr.write(`${run} was stopped by the divergence tripwire\n`);
  if (end === 'interrupted') {
    context.stdout.write(`interrupted; go on with: ${again}\n`);
    context.exitCode = 1;
    return false;
  }
  context.stdout.write(`${plan.runs.length} runs in ${directory}; see: gq results ${directory}\n`);
  return true;
}

function narrow(experiment: Experiment, { seeds, arms }: ExperimentOptions): Experiment {
  const chosen = arms?.split(',');
  const unknown = chosen?.find((name) => !experiment.arms.some((arm) => arm.name === name));
  if (unknown !== undefined) {
    const expected = experiment.arms.map(({ name }) => name).join(', ');
    throw new UserError({ call: '--arms', expected, found: unknown });
  }
  return {
    ...experiment,
    seeds: seeds === undefined ? experiment.seeds : seeds.split(',').map((text) => wholeNumber(text, '--seeds')),
    arms: experiment.arms.filter(({ name }) => chosen === undefined || chosen.includes(name)),
  };
}
