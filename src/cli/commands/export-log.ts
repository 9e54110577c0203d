/** `gq export-log RUN`: the numbers and samples of a run, finished or running, as files of other viewers. */
import { type Command, Option } from 'commander';
import { exportInspect, exportMetrics, type LogFormat, logFolder, logFormats } from '../../export/index.ts';
import { createFolder } from '../../model/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { expectNewFolder } from '../outputs.ts';
import { parseWholeNumber } from '../values.ts';

interface ExportLogOptions {
  readonly format: LogFormat;
  readonly to?: string;
  readonly updates?: string;
}

const commandFor: Readonly<Record<LogFormat, (folder: string) => string>> = {
  tensorboard: (folder) => `tensorboard --logdir ${folder}`,
  wandb: (folder) => `wandb sync ${folder}/offline-run-*`,
  trackio: (folder) => `python -c "import trackio; trackio.import_csv('${folder}/trackio.csv', project='gq')"`,
  inspect: (folder) => `inspect view --log-dir ${folder}`,
};

async function exportLog(
  path: string,
  { format, to, updates }: ExportLogOptions,
  context: CommandContext,
): Promise<void> {
  const run = RunDirectory.open(path);
  const folder = to ?? logFolder(run, format);
  expectNewFolder(folder, '--to');
  const wanted = updates?.split(',').map((text) => parseWholeNumber(text, '--updates', 1)) ?? null;
  let count = 0;
  // Where the disk is full, half a log would stand in the way of the next call.
  await createFolder(folder, async (made) => {
    const written = format === 'inspect' ? exportInspect(run, made, wanted) : exportMetrics(run, format, made);
    ({ count } = await written);
  });
  context.stdout.write(`${folder}\n`);
  const what = format === 'inspect' ? 'logs of samples' : 'points';
  context.stderr.write(`${count} ${what}; look at them with: ${commandFor[format](folder)}\n`);
}

export function configureExportLog(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory; it may still be training')
    .addOption(new Option('--format <viewer>', 'whose format').choices(logFormats).makeOptionMandatory())
    .option('--to <dir>', 'a folder that does not exist yet; logs/FORMAT of the run when absent')
    .option('--updates <list>', 'inspect: updates whose rollouts to write, such as 10,20; the last one when absent')
    .addHelpText(
      'after',
      examplesText(
        'gq export-log runs/activation-1 --format tensorboard',
        'gq export-log runs/activation-1 --format inspect --updates 10,60',
      ),
    )
    .action((path: string, options: ExportLogOptions) => exportLog(path, options, context));
}
