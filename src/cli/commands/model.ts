/**
 * `gq model inspect` shows what a model folder is and needs. `gq model init` writes a fresh random model with its tokenizer.
 * `gq model fetch` brings one from the hub into the cache of Hugging Face's tools.
 */
import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { modelArgument } from '../../lab/index.ts';
import {
  describeModel,
  fetchModel,
  loadWeights,
  ModelFolder,
  parseHubName,
  writeModelFolder,
} from '../../model/index.ts';
import type { CommandContext } from '../command.ts';
import { examplesText } from '../command.ts';
import { expectNewFolder } from '../outputs.ts';
import { renderModel } from '../terminal/model-table.ts';
import { Progress } from '../terminal/progress.ts';
import { parseSeed } from '../values.ts';
import { planModel } from './model-plan.ts';

interface InspectOptions {
  readonly json?: true;
  readonly scan?: true;
}

interface InitOptions {
  readonly config: string;
  readonly tokenizerFrom: string;
  readonly seed: number;
  readonly to: string;
}

async function inspect(directory: string, { json, scan }: InspectOptions, context: CommandContext): Promise<void> {
  await using folder = await ModelFolder.open(modelArgument(directory));
  if (scan) {
    for await (const _ of loadWeights(folder.weights, folder.config, { as: 'stored' })) {
      // Loading is the check: it fails on a weight that is not finite.
    }
  }
  const description = describeModel(folder);
  context.stdout.write(json ? `${JSON.stringify(description, null, 2)}\n` : renderModel(description));
}

async function init({ config, tokenizerFrom, seed, to }: InitOptions, context: CommandContext): Promise<void> {
  expectNewFolder(to, '--to');
  await writeModelFolder(to, await planModel(config, tokenizerFrom, seed));
  await using folder = await ModelFolder.open(to);
  context.stdout.write(renderModel(describeModel(folder)));
}

const mebibyte = 2 ** 20;

async function fetchInto(text: string, context: CommandContext): Promise<void> {
  const name = parseHubName(text);
  if (name === null) {
    throw new UserError({ call: `gq model fetch ${text}`, expected: 'ORG/NAME, or ORG/NAME@REVISION', found: text });
  }
  let shown: Progress | null = null;
  let last = -1;
  const { directory, files, bytes } = await fetchModel(name, {
    progress(done, total) {
      const now = Math.ceil(done / mebibyte);
      if (now === last) return;
      last = now;
      shown ??= new Progress(context.stderr, `${text}, MiB`, Math.ceil(total / mebibyte));
      shown.show(now);
    },
  });
  context.stdout.write(`${directory}\n`);
  context.stderr.write(
    `${files} files, ${Math.ceil(bytes / mebibyte)} MiB, hashes checked; use it as --model ${text}\n`,
  );
}

export function configureModel(command: Command, context: CommandContext): void {
  command
    .helpCommand(false)
    .addHelpText(
      'after',
      examplesText(
        'gq model inspect DIR',
        'gq model init --config micro --tokenizer-from bytes --seed 1 --to DIR',
        'gq model fetch Qwen/Qwen3-4B',
      ),
    );
  command
    .command('inspect')
    .description('show architecture, parameters, dtype, and memory on each device')
    .argument(
      '<dir>',
      'a model folder, the name of one in the Hugging Face cache (ORG/NAME), or micro: the model in the package',
    )
    .option('--json', 'print the description as JSON')
    .option('--scan', 'also read every weight, and fail on one that is NaN or infinite')
    .action((directory: string, options: InspectOptions) => inspect(directory, options, context));
  command
    .command('init')
    .description('write a fresh random model with its tokenizer; an existing folder is never overwritten')
    .requiredOption('--config <file>', 'a config.json, or a preset: nano, micro')
    .requiredOption('--tokenizer-from <source>', '"bytes", a .json list of tokens, or a tokenizer.json to copy')
    .requiredOption('--seed <n>', 'seed of the weights', parseSeed)
    .requiredOption('--to <dir>', 'the folder to write')
    .action((options: InitOptions) => init(options, context));
  command
    .command('fetch')
    .description(
      'download a model into the Hugging Face cache; goes on where a download broke off, and checks every hash',
    )
    .argument('<name>', 'ORG/NAME, or ORG/NAME@REVISION: a branch, a tag or a commit')
    .addHelpText(
      'after',
      '\nHF_HUB_CACHE and HF_HOME say where the cache is, HF_ENDPOINT names another hub, HF_TOKEN is sent to it.',
    )
    .action((name: string) => fetchInto(name, context));
}
