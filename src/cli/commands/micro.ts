/** `gq micro pretrain`: makes the micro base model from its documents. */
import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { openDevice } from '../../lab/index.ts';
import { writeModelFolder } from '../../model/index.ts';
import { type MicroRecipe, microRecipe, pretrainMicro } from '../../pretrain/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { Progress } from '../terminal/progress.ts';

interface PretrainOptions {
  readonly to: string;
  readonly device: string;
  readonly seed: string;
  readonly steps: string;
  readonly json?: boolean;
}

export function configureMicro(command: Command, context: CommandContext): void {
  command.addHelpText('after', examplesText('gq micro pretrain --to models/micro'));
  command
    .command('pretrain')
    .description('train the micro base model from scratch and write it as a model folder')
    .requiredOption('--to <dir>', 'the folder to make')
    .option('--device <name>', 'device to compute on', 'wasm')
    .option('--seed <n>', 'seed of weights and documents', String(microRecipe.seed))
    .option('--steps <n>', 'optimiser steps', String(microRecipe.steps))
    .option('--json', 'print the loss curve as JSON')
    .addHelpText(
      'after',
      examplesText('gq micro pretrain --to models/micro', 'gq micro pretrain --to /tmp/base --steps 300'),
    )
    .action((options: PretrainOptions) => runPretrain(options, context));
}

async function runPretrain(options: PretrainOptions, context: CommandContext): Promise<void> {
  const recipe: MicroRecipe = {
    ...microRecipe,
    seed: whole(options.seed, '--seed'),
    steps: whole(options.steps, '--steps'),
  };
  using device = await openDevice(options.device, { precision: 'f32' });
  const bar = new Progress(context.stderr, 'pretrain step', recipe.steps);
  const losses: number[] = [];
  const contents = await pretrainMicro(device, recipe, ({ step, loss }) => {
    losses.push(loss);
    bar.show(step);
  });
  await writeModelFolder(options.to, contents);
  const last = losses.slice(-20);
  const loss = last.reduce((sum, value) => sum + value, 0) / last.length;
  if (options.json) context.stdout.write(`${JSON.stringify({ recipe, losses, folder: options.to })}\n`);
  else
    context.stdout.write(`${options.to}: ${recipe.steps} steps, NLL per token ${loss.toFixed(4)} over the last 20\n`);
}

function whole(text: string, option: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new UserError({ call: option, expected: 'a whole number', found: text });
}
