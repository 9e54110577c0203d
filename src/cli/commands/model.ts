/** `gq model inspect`, `init`, `fetch` and `gq micro pretrain`: what a model folder is and needs, ways to get one. */
import { exitCodes, UserError } from '../../base/index.ts';
import { deviceBudget, modelArgument, onInterrupt, openDevice, renderPlan } from '../../lab/index.ts';
import {
  describeModel,
  fetchModel,
  loadWeights,
  type ModelDescription,
  ModelFolder,
  parseHubName,
  planModel,
  writeModelFolder,
} from '../../model/index.ts';
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
import type { CallOf, CommandContext, CommandResult } from '../command.ts';
import { argument, choice, command, flag, needed, repeated, whole, word } from '../command.ts';
import { deviceOption, expectNewFolder } from '../shared.ts';
import { Progress } from '../terminal/progress.ts';

export const inspectCommand = command({
  arguments: {
    dir: argument(
      '<dir>',
      'a model folder, the name of one in the Hugging Face cache (ORG/NAME), or micro: the model in the package',
    ),
  },
  options: {
    scan: flag('also read every weight, and fail on one that is NaN or infinite'),
  },
  json: 'the description as JSON',
  examples: ['gq model inspect DIR', 'gq model inspect micro --scan --json'],
  async run({ dir, scan }) {
    await using folder = await ModelFolder.open(modelArgument(dir));
    if (scan) {
      for await (const _ of loadWeights(folder.weights, folder.config, { as: 'stored' })) {
        // Loading is the check: it fails on a weight that is not finite.
      }
    }
    const description = describeModel(folder);
    return { value: description, text: () => renderModel(description) };
  },
});

export const initCommand = command({
  options: {
    config: needed(word('<file>', 'a config.json, or a preset: nano, micro')),
    tokenizerFrom: needed(
      word('<source>', '"bytes", a .json list of tokens, or a tokenizer.json to copy, by its path or that of a model'),
    ),
    seed: needed(whole('<n>', 'seed of the weights', { least: 0 })),
    to: needed(word('<dir>', 'the folder to write; an existing one is never overwritten')),
  },
  examples: ['gq model init --config micro --tokenizer-from bytes --seed 1 --to DIR'],
  async run({ config, tokenizerFrom, seed, to }, context) {
    expectNewFolder(to, '--to');
    await writeModelFolder(to, await planModel(config, tokenizerFrom, seed));
    await using folder = await ModelFolder.open(to);
    context.stdout.write(renderModel(describeModel(folder)));
  },
});

const mebibyte = 2 ** 20;

export const fetchCommand = command({
  arguments: { name: argument('<name>', 'ORG/NAME, or ORG/NAME@REVISION: a branch, a tag or a commit') },
  notes: 'HF_HUB_CACHE and HF_HOME say where the cache is, HF_ENDPOINT names another hub, HF_TOKEN is sent to it.',
  examples: ['gq model fetch Qwen/Qwen3-4B'],
  exits: { 75: 'interrupted: what came is kept, and the same call goes on' },
  async run({ name: word }, context) {
    const name = parseHubName(word);
    if (name === null) {
      throw new UserError({ call: `gq model fetch ${word}`, expected: 'ORG/NAME, or ORG/NAME@REVISION', found: word });
    }
    const show = Progress.from(context.stderr, `${word}, MiB`);
    let last = -1;
    const { directory, files, bytes } = await fetchModel(name, {
      progress(done, total) {
        const now = Math.ceil(done / mebibyte);
        if (now !== last) show(now, Math.ceil(total / mebibyte));
        last = now;
      },
    });
    context.stdout.write(`${directory}\n`);
    const size = `${Math.ceil(bytes / mebibyte)} MiB`;
    context.stderr.write(`${files} files, ${size}, hashes checked; use it as --model ${word}\n`);
  },
});

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

export function formatBytes(bytes: number): string {
  const unit = units.findLastIndex((_, power) => power === 0 || bytes >= 1024 ** power);
  return unit === 0 ? `${bytes} bytes` : `${(bytes / 1024 ** unit).toFixed(1)} ${units[unit]}`;
}

function shapeText({ config }: ModelDescription): string {
  const { layers, hiddenSize, heads, kvHeads, headDim, intermediateSize, tieEmbeddings, vocabSize } = config;
  const head = tieEmbeddings ? 'tied' : 'own';
  return [
    `${layers} layers`,
    `hidden ${hiddenSize}`,
    `${heads} heads over ${kvHeads} key/value heads of ${headDim}`,
    `MLP ${intermediateSize}`,
    `vocabulary ${vocabSize}, ${head} head`,
  ].join(', ');
}

/** In quotes, since spaces and line ends are parts of them. */
function wordLines(words: readonly string[]): string[] {
  const lines: string[] = [];
  for (const word of words.map((each) => JSON.stringify(each))) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= widest) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Characters of a line of words. */
const widest = 90;

export function renderModel(model: ModelDescription): string {
  const { config, memory } = model;
  const dtypes = Object.entries(model.dtypes).map(([dtype, count]) => `${dtype} × ${count}`);
  const scaling = config.rope.scaling.kind === 'none' ? '' : `, ${config.rope.scaling.kind} scaling`;
  const text = model.tokenizerSize === null ? 'none' : `${model.tokenizerSize} tokens`;
  const rows: [string, string][] = [
    ['model', model.directory],
    ['architecture', model.architecture],
    ['shape', shapeText(model)],
    ['positions', `${config.maxPositions}, rope θ ${config.rope.theta}${scaling}`],
    ['parameters', model.parameters.toLocaleString('en')],
    ['weights', `${dtypes.join(', ')}; ${formatBytes(model.diskBytes)} in ${model.files} file(s)`],
    ['tokenizer', `${text}, ${model.chatTemplate ? 'with' : 'without'} chat template`],
    ['stop tokens', model.stopTokenIds.length === 0 ? 'none named' : model.stopTokenIds.join(', ')],
  ];
  for (const [i, line] of wordLines(model.words).entries()) rows.push([i === 0 ? 'words' : '', line]);
  if (model.unreadKeys.length > 0) rows.push(['without effect', model.unreadKeys.join(', ')]);
  for (const { device, formula, weightBytes, cacheBytesPerToken } of memory) {
    const weights = `${formatBytes(weightBytes)} of weights (${formula})`;
    rows.push([`memory, ${device}`, `${weights}, ${formatBytes(cacheBytesPerToken)} for each cached token`]);
  }
  rows.push([
    '',
    'P parameters, M of them in matrices that are multiplied; cache = 2 · layers · key/value heads · head size',
  ]);
  const width = Math.max(...rows.map(([name]) => name.length));
  return `${rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')}\n`;
}

/** Every fourth document needs a problem of its own, of which there are only so many. */
const mostSteps = 100_000;
type ShapeName = keyof typeof microShapes;
/** Documents of one pass where kernels run on the processor: a pass takes seconds there, and Ctrl-C is heard between passes. */
const processorDocuments: Readonly<Record<ShapeName, number>> = {
  countdown: 48,
  '1M': 96,
  '2M': 96,
  '4M': 96,
  '8M': 48,
  '27M': 12,
  '100M': 4,
  '300M': 1,
  '1B': 1,
};

const options = {
  to: needed(word('<dir>', 'the folder to make')),
  device: deviceOption,
  shape: {
    ...choice(
      '<name>',
      'number of weights; countdown: a small base for that environment',
      Object.keys(microShapes) as ShapeName[],
      '2M' as ShapeName,
    ),
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
};
type PretrainCall = CallOf<typeof options>;

export const pretrainCommand = command({
  options,
  json: 'the loss curve as JSON',
  examples: [
    'gq micro pretrain --to models/own',
    'gq micro pretrain --to bases/short --steps 300',
    'gq micro pretrain --to bases/27M --shape 27M --device cuda --precision bf16',
    'gq micro pretrain --to bases/wide --set hiddenSize=256 --set heads=8',
    'gq micro pretrain --to bases/countdown --shape countdown',
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

async function planDevice(recipe: MicroRecipe, { device }: PretrainCall, context: CommandContext): Promise<number> {
  const plan = await planPretraining(recipe);
  const budget = await deviceBudget(device);
  if (budget !== null) {
    expectRoom(plan, recipe, budget.bytes, budget.source);
    context.stderr.write(`${renderPlan(plan, budget)}\n`);
  }
  return Math.ceil(plan.totalBytes / 2 ** 20);
}

async function pretrain(options: PretrainCall, context: CommandContext): Promise<CommandResult | undefined> {
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
    return undefined;
  }
  await writeModelFolder(options.to, contents);
  const last = losses.slice(-20);
  const loss = last.reduce((sum, value) => sum + value, 0) / last.length;
  const isWhole = losses.length === recipe.steps;
  const steps = isWhole ? `${recipe.steps} steps` : `interrupted after ${losses.length} of ${recipe.steps} steps`;
  const text = `${options.to}: ${steps}, NLL per token ${loss.toFixed(4)} over the last ${last.length}\n`;
  return { value: { recipe, losses, folder: options.to }, text: () => text };
}
