/** `gq results DIR`: prints tables over seeds and comparisons with the baseline and the placebo; draws figures where it is told to. */
import { type Command, Option } from 'commander';
import { visibleLine } from '../../base/index.ts';
import { questionFacts, questionsAbout } from '../../study/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import type { PrintedResults } from '../print-results.ts';
import { screenWidth } from '../terminal/screen.ts';

export function configureResults(command: Command, context: CommandContext): void {
  command
    .argument('<dir>', 'an experiment, a folder of runs, or a run')
    .option('--format <name>', 'text, markdown, csv, latex, json', 'text')
    .option('--figures <dir>', 'also draw figures into this folder, with the traces; without it nothing is written')
    // Scripts of version 0.1 say this, because figures were drawn unless it was said.
    .addOption(new Option('--no-figures').hideHelp())
    .option('--force', 'overwrite files in the folder of figures that gq did not make')
    .option('--baseline <arm>', "compare with this arm; the experiment's own, or vanilla, when absent")
    .option('--placebo <arm>', "compare with this placebo too; the experiment's own, or haar, when absent")
    .addHelpText(
      'after',
      examplesText('gq results runs/micro-claim', 'gq results runs/micro-claim --format latex --figures figures'),
    )
    .action((directory: string, options: PrintedResults) => runResults(directory, options, context));
}

async function runResults(directory: string, options: PrintedResults, context: CommandContext): Promise<void> {
  const { printResults } = await import('../print-results.ts');
  await printResults(directory, options, screenWidth(context.stdout), context);
  if (options.format === 'text') tellQueued(directory, context);
}

/** The questions of the jobs of the queue that made these results, and what was found. */
function tellQueued(directory: string, { stdout }: CommandContext): void {
  const facts = questionsAbout(directory).flatMap(questionFacts);
  for (const [name, text] of facts) stdout.write(`${name}: ${visibleLine(text)}\n`);
}
