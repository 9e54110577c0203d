/** `gq micro pretrain`: makes a micro base model from its documents. */
import { exitCodes } from '../../base/index.ts';
import { deviceBudget, onInterrupt, openDevice, renderPlan } from '../../lab/index.ts';
import { writeModelFolder } from '../../model/index.ts';
import {
  changeRecipe,
  expectPrecision,
  expectRoom,
  type MicroRecipe,
  microRecipe,
  microShapes,
  planPretraining,
  pretrainMicro,
} from '../../pretrain/index.ts';
import { type CallOf, type CommandContext, choice, command, needed, repeated, whole, word } from '../command.ts';
import { deviceOption, jsonOption } from '../options.ts';
import { expectNewFolder } from '../outputs.ts';
import { Progress } from '../terminal/progress.ts';

/** Every fourth document needs a problem of its own, of which there are only so many. */
const mostSteps = 100_000;
type ShapeName = keyof typeof microShapes;
/** Documents of one pass where kernels run on the processor: a pass takes seconds there, and Ctrl-C is heard between passes. */
const processorDocuments: Readonly<Record<ShapeName, number>> = { '2M': 96, '27M': 12, '100M': 4 };

const options = {
  to: needed(word('<dir>', 'the folder to make')),
  device: deviceOption,
  shape: {
    ...choice('<name>', 'number of weights', Object.keys(microShapes) as ShapeName[], '2M' as ShapeName),
    usualText: '2M, as shipped',
  },
  precision: choice(
    '<name>',
    'numbers to compute with; bf16 needs --device cuda, and its weights still learn in float32',
    ['f32', 'bf16'],
    'f32',
  ),
  set: repeated(
    '<key=value>',
    'another value of the recipe, such as hiddenSize, layers, heads, learningRate or documentsPerPass',
  ),
  seed: whole('<n>', 'seed of weights and documents', { least: 0, usual: microRecipe.seed }),
  steps: whole('<n>', 'optimiser steps', { most: mostSteps, usual: microRecipe.steps }),
  json: jsonOption('the loss curve'),
};
type PretrainCall = CallOf<typeof options>;

export const pretrainCommand = command({
  options,
  examples: [
    'gq micro pretrain --to models/own',
    'gq micro pretrain --to /tmp/base --steps 300',
    'gq micro pretrain --to /tmp/base --shape 27M --device cuda --precision bf16',
    'gq micro pretrain --to /tmp/base --set hiddenSize=256 --set heads=8',
  ],
  exits: { 130: 'interrupted: the model is written as it is, and cannot be trained on' },
  run: pretrain,
});

/** The recipe as it is recorded: float32 and whole steps are what a recipe has that does not say otherwise. */
function recipeOf({ shape, set, seed, steps, device, precision }: PretrainCall): MicroRecipe {
  const documentsPerPass = device === 'cuda' ? undefined : processorDocuments[shape];
  const whole = documentsPerPass === undefined || documentsPerPass === microShapes[shape].documentsPerStep;
  const own = { seed, steps, ...(whole ? {} : { documentsPerPass }), ...(precision === 'f32' ? {} : { precision }) };
  return changeRecipe({ ...microShapes[shape], ...own }, set);
}

/** The size to open the device with: what the recipe needs, if that is there. */
async function planDevice(recipe: MicroRecipe, { device }: PretrainCall, context: CommandContext): Promise<number> {
  const plan = await planPretraining(recipe);
  const budget = await deviceBudget(device);
  if (budget !== null) {
    expectRoom(plan, recipe, budget.bytes, budget.source);
    context.stderr.write(`${renderPlan(plan, budget)}\n`);
  }
  return Math.ceil(plan.totalBytes / 2 ** 20);
}

async function pretrain(options: PretrainCall, context: CommandContext): Promise<void> {
  expectNewFolder(options.to, '--to');
  const recipe = recipeOf(options);
  expectPrecision(recipe, { name: options.device, floats: options.device === 'cuda' ? ['f32', 'bf16'] : ['f32'] });
  using interruption = onInterrupt(context.stderr, `finishing this pass, then writing ${options.to} as it is`);
  const arenaMiB = await planDevice(recipe, options, context);
  using device = await openDevice(options.device, { precision: options.precision, arenaMiB });
  context.stderr.write(`${options.to}: ${recipe.steps} steps (Ctrl-C writes it as it is)\n`);
  const bar = new Progress(context.stderr, 'pretrain step', recipe.steps);
  const losses: number[] = [];
  const contents = await pretrainMicro(
    device,
    recipe,
    ({ documents, loss }) => {
      if (loss !== null) losses.push(loss);
      bar.show(documents / recipe.documentsPerStep);
    },
    interruption.signal,
  );
  if (losses.length < recipe.steps) context.exitCode = exitCodes.stopped;
  if (losses.length === 0) {
    context.stderr.write(`${options.to}: interrupted before the first step was done, so nothing is written\n`);
    return;
  }
  await writeModelFolder(options.to, contents);
  const last = losses.slice(-20);
  const loss = last.reduce((sum, value) => sum + value, 0) / last.length;
  const isWhole = losses.length === recipe.steps;
  if (options.json) {
    context.stdout.write(`${JSON.stringify({ recipe, losses, folder: options.to })}\n`);
    return;
  }
  const steps = isWhole ? `${recipe.steps} steps` : `interrupted after ${losses.length} of ${recipe.steps} steps`;
  context.stdout.write(`${options.to}: ${steps}, NLL per token ${loss.toFixed(4)} over the last ${last.length}\n`);
}
