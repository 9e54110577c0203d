/** `gq train`: one run from a recipe; to its end, or to where it was interrupted. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { trainRun } from '../../lab/index.ts';
import type { RunConfig, RunEnd } from '../../run/index.ts';
import { configHash, type Manifest, parseRunConfig, RunDirectory, resolveConfig, runFormat } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { collect } from '../values.ts';

interface TrainOptions {
  readonly set: readonly string[];
  readonly out?: string;
  readonly resume?: string;
  readonly fork?: string;
  readonly model?: string;
  readonly device?: string;
  readonly json?: boolean;
}

export function configureTrain(command: Command, context: CommandContext): void {
  command
    .argument('[recipe]', 'a TOML recipe; without one, the defaults')
    .option('--set <key=value>', 'change one key of the config; may be repeated', collect, [])
    .option('--out <dir>', 'the run directory to make')
    .option('--resume <run>', 'go on with a run from its last checkpoint')
    .option('--fork <run@update>', 'start a new run from a checkpoint of another')
    .option('--model <dir>', 'short for --set model=DIR')
    .option('--device <name>', 'short for --set device.kind=NAME')
    .option('--json', 'print every event as a line of JSON')
    .addHelpText(
      'after',
      examplesText(
        'gq train recipes/micro-activation.toml --out runs/activation-1',
        'gq train recipes/micro-vanilla.toml --set seed=2 --set updates=50 --out runs/vanilla-2',
        'gq train --resume runs/activation-1',
        'gq train --fork runs/activation-1@20 --set optimiser.learningRate=5e-4 --out runs/forked',
      ),
    )
    .action((recipe: string | undefined, options: TrainOptions) => runTrain(recipe, options, context));
}

async function runTrain(recipe: string | undefined, options: TrainOptions, context: CommandContext): Promise<void> {
  const { end, holds } =
    options.resume === undefined
      ? await startRun(recipe, options, context)
      : await resumeRun(options.resume, recipe, options, context);
  if (end === 'tripwire' || !holds) context.exitCode = 1;
}

function shortcuts({ model, device, set }: TrainOptions): string[] {
  return [
    ...(model === undefined ? [] : [`model=${JSON.stringify(model)}`]),
    ...(device === undefined ? [] : [`device.kind=${JSON.stringify(device)}`]),
    ...set,
  ];
}

async function startRun(
  recipe: string | undefined,
  options: TrainOptions,
  context: CommandContext,
): Promise<{ end: RunEnd; holds: boolean }> {
  const parent = options.fork === undefined ? null : parseFork(options.fork);
  const base =
    parent === null ? null : { config: RunDirectory.open(parent.run).manifest.config, source: options.fork ?? '' };
  const { config } = resolveConfig(recipe ?? null, shortcuts(options), base);
  const run = RunDirectory.create(options.out ?? join('runs', `${config.arm.kind}-${config.seed}`));
  return trainRun(config, run, { ...context, json: options.json === true }, (inputs) => ({
    format: runFormat,
    ...inputs,
    config,
    configHash: configHash(config),
    command: process.argv.slice(2),
    usesOracle: config.arm.kind === 'oracle',
    parent,
  }));
}

function parseFork(text: string): NonNullable<Manifest['parent']> {
  const match = /^(.*)@(\d+)$/.exec(text);
  if (match === null) throw new UserError({ call: '--fork', expected: 'RUN@UPDATE', found: text });
  return { run: match[1], update: Number(match[2]) };
}

async function resumeRun(
  path: string,
  recipe: string | undefined,
  options: TrainOptions,
  context: CommandContext,
): Promise<{ end: RunEnd; holds: boolean }> {
  const run = RunDirectory.open(path);
  const changes = [...(recipe === undefined ? [] : [recipe]), ...shortcuts(options)];
  if (changes.length > 0 || options.fork !== undefined || options.out !== undefined) {
    throw new UserError({
      call: '--resume',
      expected: 'the run as it was started',
      found: [...changes, options.fork, options.out].filter((part) => part !== undefined).join(', '),
      fix: 'Fork it to change the config: --fork RUN@UPDATE.',
    });
  }
  const config: RunConfig = parseRunConfig(run.manifest.config);
  return trainRun(config, run, { ...context, json: options.json === true }, null);
}
