/** `gq micro pretrain`: makes the micro base model from its documents. */

import type { Command } from 'commander';
import { exitCodes } from '../../base/index.ts';
import { onInterrupt, openDevice } from '../../lab/index.ts';
import { writeModelFolder } from '../../model/index.ts';
import { type MicroRecipe, microRecipe, pretrainMicro } from '../../pretrain/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { expectNewFolder } from '../outputs.ts';
import { Progress } from '../terminal/progress.ts';
import { parseCount, parseSeed } from '../values.ts';

/** The documents of all steps are made at the start, so their number is bounded by memory. */
const mostSteps = 100_000;

interface PretrainOptions {
  readonly to: string;
  readonly device: string;
  readonly seed: number;
  readonly steps: number;
  readonly json?: boolean;
}

export function configureMicro(command: Command, context: CommandContext): void {
  command.addHelpText('after', examplesText('gq micro pretrain --to models/micro'));
  command
    .command('pretrain')
    .description('train the micro base model from scratch and write it as a model folder')
    .requiredOption('--to <dir>', 'the folder to make')
    .option('--device <name>', 'device to compute on', 'wasm')
    .option('--seed <n>', 'seed of weights and documents', parseSeed, microRecipe.seed)
    .option(
      '--steps <n>',
      'optimiser steps',
      (text: string) => parseCount(text, undefined, mostSteps),
      microRecipe.steps,
    )
    .option('--json', 'print the loss curve as JSON')
    .addHelpText(
      'after',
      examplesText('gq micro pretrain --to models/micro', 'gq micro pretrain --to /tmp/base --steps 300'),
    )
    .action((options: PretrainOptions) => runPretrain(options, context));
}

async function runPretrain(options: PretrainOptions, context: CommandContext): Promise<void> {
  expectNewFolder(options.to, '--to');
  const recipe: MicroRecipe = { ...microRecipe, seed: options.seed, steps: options.steps };
  using device = await openDevice(options.device, { precision: 'f32' });
  const bar = new Progress(context.stderr, 'pretrain step', recipe.steps);
  const losses: number[] = [];
  using interruption = onInterrupt(context.stderr, `finishing this step, then writing ${options.to} as it is`);
  context.stderr.write(`${options.to}: ${recipe.steps} steps (Ctrl-C writes it as it is)\n`);
  const contents = await pretrainMicro(
    device,
    recipe,
    ({ step, loss }) => {
      losses.push(loss);
      bar.show(step);
    },
    interruption.signal,
  );
  await writeModelFolder(options.to, contents);
  const last = losses.slice(-20);
  const loss = last.reduce((sum, value) => sum + value, 0) / last.length;
  const isWhole = losses.length === recipe.steps;
  if (!isWhole) context.exitCode = exitCodes.failed;
  if (options.json) {
    context.stdout.write(`${JSON.stringify({ recipe, losses, folder: options.to })}\n`);
    return;
  }
  const steps = isWhole ? `${recipe.steps} steps` : `interrupted after ${losses.length} of ${recipe.steps} steps`;
  context.stdout.write(`${options.to}: ${steps}, NLL per token ${loss.toFixed(4)} over the last ${last.length}\n`);
}
