/** `gq results DIR`: prints tables over seeds and comparisons with the baseline and the placebo; draws figures where it is told to. */
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { wrapText } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import type { Results } from '../../report/index.ts';
import {
  allFigures,
  allTables,
  describeResults,
  expectOwnFigures,
  expectOwnTraces,
  parseTableFormat,
  renderTable,
  resultsCsv,
  resultsJson,
  writeFigures,
  writeTraces,
} from '../../report/index.ts';
import { findExperiment, openResults } from '../../sweep/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { screenWidth } from '../terminal/screen.ts';

const formats = ['text', 'markdown', 'csv', 'latex', 'json'] as const;

interface ResultsOptions {
  readonly format: string;
  readonly figures?: string | false;
  readonly force?: true;
  readonly baseline?: string;
  readonly placebo?: string;
}

export function configureResults(command: Command, context: CommandContext): void {
  command
    .argument('<dir>', 'an experiment, a folder of runs, or a run')
    .option('--format <name>', formats.join(', '), 'text')
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
    .action((directory: string, options: ResultsOptions) => runResults(directory, options, context));
}

async function runResults(directory: string, options: ResultsOptions, context: CommandContext): Promise<void> {
  const format = parseTableFormat(options.format, formats);
  const { figures = false, force = false } = options;
  if (figures !== false) {
    expectWritable(`--figures ${figures}`, figures);
    expectOwnFigures(figures, force);
    expectOwnTraces(figures, force);
  }
  const results = await openResults(directory, options);
  context.stdout.write(renderResults(results, format, screenWidth(context.stdout)));
  warnIncomplete(directory, results, context);
  if (figures === false) return;
  const { files, warnings } = await writeFigures(allFigures(results), figures, { force });
  for (const warning of warnings) context.stderr.write(`${warning}\n`);
  const traces = await writeTraces(results, figures, force);
  context.stderr.write(`${files.length + traces.length} files in ${figures}\n`);
}

/** Warns about runs that are not finished or not started yet; runs that could not be read make the answer a no. */
export function warnIncomplete(directory: string, { arms, leftOut }: Results, context: CommandContext): void {
  const { stderr } = context;
  for (const { path, why } of leftOut) stderr.write(`left out: ${path}: ${why}\n`);
  if (leftOut.length > 0) context.exitCode = 1;
  const unfinished = arms.flatMap(({ runs }) => runs.filter(({ status }) => status === 'unfinished'));
  for (const { path, updates } of unfinished) stderr.write(`${path} is not finished (${updates} updates saved)\n`);
  const { missing } = findExperiment(directory);
  const names = missing.map((path) => basename(path));
  if (names.length > 0) stderr.write(`not started yet in ${directory}: ${names.join(', ')}\n`);
}

function renderResults(results: Results, format: (typeof formats)[number], width: number): string {
  if (format === 'json') return `${JSON.stringify(resultsJson(results), null, 2)}\n`;
  if (format === 'csv') return resultsCsv(results);
  const tables = allTables(results).map((table) => renderTable(table, format, width));
  if (format === 'latex') return tables.join('\n');
  const words = describeResults(results).join('\n');
  if (format === 'markdown') return [`# ${results.name}\n`, ...tables, `${words}\n`].join('\n');
  return [`${results.name}\n`, ...tables, `${wrapText(words, width)}\n`].join('\n');
}
