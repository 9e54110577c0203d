/**
 * `gq model inspect` shows what a model folder is and needs. `gq model init` writes a fresh random model with its tokenizer.
 * `gq model fetch` brings one from the hub into the cache of Hugging Face's tools.
 */
import { UserError } from '../../base/index.ts';
import { modelArgument } from '../../lab/index.ts';
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
import { argument, command, flag, needed, whole, word } from '../command.ts';
import { jsonOption } from '../options.ts';
import { expectNewFolder, printAnswer } from '../outputs.ts';
import { Progress } from '../terminal/progress.ts';

export const inspectCommand = command({
  arguments: {
    dir: argument(
      '<dir>',
      'a model folder, the name of one in the Hugging Face cache (ORG/NAME), or micro: the model in the package',
    ),
  },
  options: {
    json: jsonOption('the description'),
    scan: flag('also read every weight, and fail on one that is NaN or infinite'),
  },
  examples: ['gq model inspect DIR', 'gq model inspect micro --scan --json'],
  async run({ dir, json, scan }, context) {
    await using folder = await ModelFolder.open(modelArgument(dir));
    if (scan) {
      for await (const _ of loadWeights(folder.weights, folder.config, { as: 'stored' })) {
        // Loading is the check: it fails on a weight that is not finite.
      }
    }
    const description = describeModel(folder);
    printAnswer(context, json, description, () => renderModel(description));
  },
});

export const initCommand = command({
  options: {
    config: needed(word('<file>', 'a config.json, or a preset: nano, micro')),
    tokenizerFrom: needed(word('<source>', '"bytes", a .json list of tokens, or a tokenizer.json to copy')),
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
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
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
