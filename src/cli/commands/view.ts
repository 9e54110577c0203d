/** `gq view [DIR]`: serves the viewer until Ctrl-C. It reads a folder of runs, an experiment or a run, and adds labels and notes of people. */
import { constants, setPriority } from 'node:os';
import type { Command } from 'commander';
import { openPage, startView } from '../../view/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { parsePort, tokenFrom } from '../values.ts';

interface ViewCommandOptions {
  readonly host: string;
  readonly port: number;
}

const usualPort = 4717;
const tokenVariable = 'GQ_VIEW_TOKEN';

export function configureView(command: Command, context: CommandContext): void {
  command
    .argument('[dir]', 'a folder of runs, an experiment, or a run', 'runs')
    .option('--port <n>', 'port to listen on; 0 is any free one', parsePort, usualPort)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .addHelpText(
      'after',
      `\nThe address that is printed has a token in it: other users of this machine need it to look or to write.\nIt is a new one each time, or that of ${tokenVariable}; programs send it as "Authorization: Bearer TOKEN".\n`,
    )
    .addHelpText(
      'after',
      examplesText('gq view', 'gq view runs/micro-claim', `${tokenVariable}=secret gq view runs --port 0`),
    )
    .action((directory: string, options: ViewCommandOptions) => runView(directory, options, context));
}

async function runView(directory: string, options: ViewCommandOptions, context: CommandContext): Promise<void> {
  standBack();
  const token = tokenFrom(tokenVariable, 'gq view');
  const own = { host: options.host, port: options.port, ...(token === null ? {} : { token }) };
  await using view = await startView(directory, await openPage(), own);
  context.stdout.write(`${view.address}\n`);
  context.stderr.write('Open this address in a browser; Ctrl-C ends it.\n');
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
}

/** Runs that train on this machine come first. */
function standBack(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A system that forbids it serves the viewer like any other program.
  }
}
