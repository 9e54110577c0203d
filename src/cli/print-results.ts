/** Prints the results of a folder: tables over seeds and comparisons, what is not there yet, and figures where they are asked for. */
import { basename } from 'node:path';
import { wrapText } from '../base/index.ts';
import { expectWritable } from '../base/node/index.ts';
import type { Results } from '../report/index.ts';
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
} from '../report/index.ts';
import { describeSameBytes, findExperiment, openResults } from '../study/index.ts';
import type { CommandContext } from './command.ts';

const resultsFormats = ['text', 'markdown', 'csv', 'latex', 'json'] as const;
type ResultsFormat = (typeof resultsFormats)[number];

export interface PrintedResults {
  readonly format: string;
  readonly figures?: string | false;
  readonly force?: true;
  readonly baseline?: string;
  readonly placebo?: string;
}

/** `width`: the columns of the screen that text is for. */
export async function printResults(
  directory: string,
  options: PrintedResults,
  width: number,
  context: CommandContext,
): Promise<void> {
  const format = parseTableFormat(options.format, resultsFormats);
  const { figures = false, force = false } = options;
  if (figures !== false) {
    expectWritable(`--figures ${figures}`, figures);
    expectOwnFigures(figures, force);
    expectOwnTraces(figures, force);
  }
  const results = await openResults(directory, options);
  tellResults(directory, results, format, width, context);
  if (figures === false) return;
  const { files, warnings } = await writeFigures(await allFigures(results), figures, { force });
  for (const warning of warnings) context.stderr.write(`${warning}\n`);
  const traces = await writeTraces(results, figures, force);
  context.stderr.write(`${files.length + traces.length} files in ${figures}\n`);
}

function tellResults(
  directory: string,
  results: Results,
  format: ResultsFormat,
  width: number,
  context: CommandContext,
): void {
  context.stdout.write(renderResults(results, format, width));
  warnIncomplete(directory, results, context);
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
  for (const sentence of describeSameBytes(directory)) stderr.write(`${sentence}\n`);
}

function renderResults(results: Results, format: ResultsFormat, width: number): string {
  if (format === 'json') return `${JSON.stringify(resultsJson(results), null, 2)}\n`;
  if (format === 'csv') return resultsCsv(results);
  const tables = allTables(results).map((table) => renderTable(table, format, width));
  if (format === 'latex') return tables.join('\n');
  const words = describeResults(results).join('\n');
  if (format === 'markdown') return [`# ${results.name}\n`, ...tables, `${words}\n`].join('\n');
  return [`${results.name}\n`, ...tables, `${wrapText(words, width)}\n`].join('\n');
}
