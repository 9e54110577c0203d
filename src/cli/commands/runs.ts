/** `gq runs [DIR]`: lists the runs of a folder, how far each is, when it last wrote something, and what is wrong with it. */
import type { Command } from 'commander';
import { type ListedRun, listCatalogue } from '../../view/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { alignRows } from '../terminal/columns.ts';
import { screenWidth } from '../terminal/screen.ts';
import { formatDuration } from '../terminal/step-table.ts';

export function configureRuns(command: Command, context: CommandContext): void {
  command
    .argument('[dir]', 'a folder of runs, an experiment, or a run', 'runs')
    .option('--json', 'print the list as JSON')
    .addHelpText('after', examplesText('gq runs', 'gq runs runs/micro-claim --json'))
    .action((directory: string, { json }: { json?: true }) => {
      const catalogue = listCatalogue(directory);
      if (json) context.stdout.write(`${JSON.stringify(catalogue, null, 2)}\n`);
      else context.stdout.write(renderRuns(catalogue.runs, screenWidth(context.stdout)));
    });
}

function renderRuns(runs: readonly ListedRun[], width: number): string {
  if (runs.length === 0) return 'no runs here\n';
  const head = ['run', 'arm', 'status', 'update', 'hack', 'solve', 'last write'];
  const rows = runs.map((run) => {
    const last = run.curve.at(-1);
    const rate = (value: number | undefined): string => (value === undefined ? '-' : value.toFixed(2));
    const since = run.heartbeat === null ? '-' : `${formatDuration((Date.now() - run.heartbeat) / 1000)} ago`;
    return [run.id, run.arm, run.status, `${run.update}/${run.updates}`, rate(last?.hack), rate(last?.solve), since];
  });
  const notices = runs.flatMap(({ id, notice }) => (notice === '' ? [] : [`${id}: ${notice}`]));
  const note = 'hack and solve: deployed, at the last point of the curve';
  return `${[...alignRows([head, ...rows], width), ...notices, note].join('\n')}\n`;
}
