/** `gq results DIR`: prints tables over seeds and comparisons with the baseline and the placebo, and draws figures. */
import { join } from 'node:path';
import type { Command } from 'commander';
import type { OnReading, Results } from '../../report/index.ts';
import {
  allFigures,
  allTables,
  describeResults,
  parseTableFormat,
  readResults,
  renderTable,
  resultsCsv,
  resultsJson,
  writeFigures,
} from '../../report/index.ts';
import { findExperiment } from '../../sweep/index.ts';
import { type CommandContext, examplesText } from '../command.ts';

const formats = ['text', 'markdown', 'csv', 'latex', 'json'] as const;

interface ResultsOptions {
  readonly format: string;
  readonly figures: string | boolean;
  readonly baseline?: string;
  readonly placebo?: string;
}

export function configureResults(command: Command, context: CommandContext): void {
  command
    .argument('<dir>', 'an experiment, a folder of runs, or a run')
    .option('--format <name>', formats.join(', '), 'text')
    .option('--figures <dir>', 'folder for the figures; DIR/figures when absent')
    .option('--no-figures', 'write none')
    .option('--baseline <arm>', "compare with this arm; the experiment's own, or vanilla, when absent")
    .option('--placebo <arm>', "compare with this placebo too; the experiment's own, or haar, when absent")
    .addHelpText(
      'after',
      examplesText('gq results runs/micro-claim', 'gq results runs/micro-claim --format latex --no-figures'),
    )
    .action((directory: string, options: ResultsOptions) => runResults(directory, options, context));
}

export async function openResults(
  directory: string,
  options: { readonly baseline?: string; readonly placebo?: string } = {},
  onReading?: OnReading,
): Promise<Results> {
  const { experiment, runs } = findExperiment(directory);
  const source = {
    name: experiment?.name ?? null,
    baseline: options.baseline ?? experiment?.baseline ?? null,
    placebo: options.placebo ?? (experiment === null ? 'haar' : experiment.placebo),
    arms: experiment?.arms.map(({ name }) => name) ?? [],
    runs,
  };
  return readResults(directory, source, onReading);
}

async function runResults(directory: string, options: ResultsOptions, context: CommandContext): Promise<void> {
  const format = parseTableFormat(options.format, formats);
  const results = await openResults(directory, options);
  context.stdout.write(renderResults(results, format));
  warnUnfinished(directory, results, context);
  if (options.figures === false) return;
  const folder = typeof options.figures === 'string' ? options.figures : join(directory, 'figures');
  const { files, warnings } = await writeFigures(allFigures(results), folder);
  for (const warning of warnings) context.stderr.write(`${warning}\n`);
  context.stderr.write(`${files.length} files in ${folder}\n`);
}

/** Warns about runs that are not finished or not started yet. */
export function warnUnfinished(directory: string, { arms }: Results, { stderr }: CommandContext): void {
  const unfinished = arms.flatMap(({ runs }) => runs.filter(({ status }) => status === 'unfinished'));
  for (const { path, updates } of unfinished) stderr.write(`${path} is not finished (${updates} updates saved)\n`);
  const { missing } = findExperiment(directory);
  if (missing.length > 0) stderr.write(`not started yet: ${missing.join(', ')}\n`);
}

function renderResults(results: Results, format: (typeof formats)[number]): string {
  if (format === 'json') return `${JSON.stringify(resultsJson(results), null, 2)}\n`;
  if (format === 'csv') return resultsCsv(results);
  const tables = allTables(results).map((table) => renderTable(table, format));
  if (format === 'latex') return tables.join('\n');
  const title = format === 'markdown' ? `# ${results.name}\n` : `${results.name}\n`;
  return [title, ...tables, `${describeResults(results).join('\n')}\n`].join('\n');
}
