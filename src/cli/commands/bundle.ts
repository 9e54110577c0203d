/** `gq bundle DIR --to OUT`: writes what `gq view` shows as a folder for any web server, and as view.html, which opens from disk. */
import type { Command } from 'commander';
import { openPage, writeBundle } from '../../view/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { expectNewFolder } from '../outputs.ts';
import { Waiting } from '../terminal/waiting.ts';

interface BundleOptions {
  readonly to: string;
  readonly json?: true;
}

export function configureBundle(command: Command, context: CommandContext): void {
  command
    .argument('<dir>', 'a folder of runs, an experiment, or a run')
    .requiredOption('--to <folder>', 'new folder for the files')
    .option('--json', 'print what was written as JSON')
    .addHelpText('after', examplesText('gq bundle runs/micro-claim --to claim-page'))
    .action((directory: string, options: BundleOptions) => runBundle(directory, options, context));
}

async function runBundle(directory: string, { to, json }: BundleOptions, context: CommandContext): Promise<void> {
  expectNewFolder(to, '--to');
  using waiting = new Waiting(context.stderr);
  waiting.on('building the page');
  const written = await writeBundle(directory, to, await openPage(), (page) => waiting.on(`reading ${page}`));
  for (const { page, why } of written.leftOut) context.stderr.write(`left out: ${page}: ${why}\n`);
  if (written.leftOut.length > 0) context.exitCode = 1;
  const size = `${(written.wholeBytes / 1e6).toFixed(1)} MB`;
  context.stdout.write(
    json
      ? `${JSON.stringify({ folder: to, ...written }, null, 2)}\n`
      : `${to}/index.html: ${written.runs} runs, for any web server\n${to}/view.html: the same in one file of ${size}, opens from disk\n`,
  );
}
