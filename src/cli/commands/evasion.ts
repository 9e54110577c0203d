/** `gq evasion RUN`: how a monitor that reads activations scores the same texts on the base and on the trained policy. */
import type { Command } from 'commander';
import { expectWritable } from '../../base/node/index.ts';
import { measureEvasion, writeEvasion } from '../../measure/index.ts';
import { evasionTable, renderTable } from '../../report/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { screenWidth } from '../terminal/screen.ts';
import { tellOn } from '../terminal/tell.ts';
import { parseWholeNumber } from '../values.ts';

interface EvasionCommandOptions {
  readonly rollouts: string;
  readonly device?: string;
  readonly json?: true;
}

export function configureEvasion(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory whose monitor reads activations')
    .option('--rollouts <n>', 'most rollouts that are scored, the newest first', '256')
    .option('--device <name>', 'device to compute on; the one the run was trained on when absent')
    .option('--json', 'print the split as JSON')
    .addHelpText('after', examplesText('gq evasion runs/penalty-1', 'gq evasion runs/penalty-1 --rollouts 1024 --json'))
    .action((path: string, options: EvasionCommandOptions) => runEvasion(path, options, context));
}

async function runEvasion(path: string, options: EvasionCommandOptions, context: CommandContext): Promise<void> {
  const rollouts = parseWholeNumber(options.rollouts, '--rollouts', 1);
  const { arm, config } = RunDirectory.open(path).readManifest();
  expectWritable(`evasion split of ${path}`, path);
  const found = await measureEvasion(path, { rollouts, warn: tellOn(context), device: options.device });
  await writeEvasion(path, found);
  if (options.json) {
    context.stdout.write(`${JSON.stringify({ run: path, ...found }, null, 2)}\n`);
    return;
  }
  const table = renderTable(evasionTable(found), 'text', screenWidth(context.stdout));
  context.stdout.write(`${path}: ${arm}, seed ${config.seed}, after ${found.update} updates\n\n${table}`);
}
