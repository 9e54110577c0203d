/** `gq labels DIR`: how far the people who labelled rollouts in the viewer agree with the oracle, and with each other. */
import type { Command } from 'commander';
import { renderTable } from '../../report/index.ts';
import { agreementsOf, agreementTable, labelsPage, lastLabels, ViewLibrary } from '../../view/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { screenWidth } from '../terminal/screen.ts';

export function configureLabels(command: Command, context: CommandContext): void {
  command
    .argument('<dir>', 'a run, an experiment, or a folder of them')
    .option('--json', 'print labels and agreement as JSON')
    .addHelpText('after', examplesText('gq labels runs/micro-claim', 'gq labels runs/activation-1 --json'))
    .action((directory: string, { json }: { json?: true }) => runLabels(directory, json === true, context));
}

async function runLabels(directory: string, isJson: boolean, context: CommandContext): Promise<void> {
  const library = new ViewLibrary(directory);
  const own = library.entries().filter(({ experiment }) => experiment === null);
  const labels = [];
  for (const entry of own) labels.push(...(await labelsPage(library, entry)).labels);
  const agreements = agreementsOf(labels);
  if (isJson) {
    context.stdout.write(`${JSON.stringify({ agreements, labels: lastLabels(labels) }, null, 2)}\n`);
    return;
  }
  if (agreements.length === 0) {
    context.stdout.write('no labels yet: gq view, then “label” of a run or an experiment\n');
    context.exitCode = 1;
    return;
  }
  context.stdout.write(renderTable(agreementTable(agreements), 'text', screenWidth(context.stdout)));
}
