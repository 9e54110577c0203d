/** `gq results DIR`: tables over seeds, comparisons, figures; with --html one HTML file. */
import { dirname, join } from 'node:path';
import { textWidth, visibleLine, wrapText } from '../../base/index.ts';
import { expectPlainNames, expectWritable } from '../../base/node/index.ts';
import { asTyped, gqLine } from '../../base/node/own-program.ts';
import { comparesActions } from '../../report/baselines.ts';
import {
  allFigures,
  allTables,
  describeMissing,
  describeResults,
  describeUnknown,
  expectOwnFigures,
  expectOwnFile,
  expectOwnTraces,
  firstTables,
  missingEvaluations,
  parseTableFormat,
  type Results,
  renderTable,
  resultsCsv,
  resultsJson,
  runsText,
  writeFigures,
  writeReport,
  writeTraces,
} from '../../report/index.ts';
import { isTraining } from '../../run/directory.ts';
import { openResults } from '../../study/claim-progress.ts';
import { findExperiment } from '../../study/directory.ts';
import { questionFacts, questionsAbout } from '../../study/queue/folder.ts';
import { describeSameBytes } from '../../study/same-bytes.ts';
import {
  argument,
  type CallOf,
  type CommandContext,
  type CommandResult,
  command,
  flag,
  repeated,
  word,
} from '../command.ts';
import { allPrints, expectAbsent, jsonText, sameCall } from '../shared.ts';
import { Waiting } from '../terminal/progress.ts';
import { screenWidth } from '../terminal/screen.ts';

const resultsFormats = ['text', 'markdown', 'csv', 'latex', 'json'] as const;
type ResultsFormat = (typeof resultsFormats)[number];

const options = {
  format: word('<name>', `${resultsFormats.join(', ')}; text when absent`),
  figures: word('<dir>', 'also draw figures into this folder, with the traces; without it nothing is written'),
  baseline: word('<arm>', "compare with this arm; the experiment's own, or vanilla, when absent"),
  placebo: word('<arm>', "compare with this placebo too; the experiment's own, or haar, when absent"),
  from: repeated(
    '<dir>',
    'take runs that the experiment plans and has not started from this folder too, where it has them, beside the folders that it shared runs from when it was run',
  ),
  emergence: flag(
    'also when policies begin to attempt: Kaplan–Meier and log-rank over curves; always there where the experiment has predictions',
  ),
  all: flag('print every table as text; without it those that come first, and the kinds of the others'),
  html: flag('write one HTML file instead'),
  out: word('<file>', '--html: file to write; DIR/report.html when absent'),
  title: word('<text>', "--html: its title; the experiment's or the folder's name when absent"),
  force: flag('overwrite files that something else made'),
  json: flag('short for --format json; with --html, print what was written, and what is missing, as JSON'),
};

export const resultsCommand = command({
  arguments: { dir: argument('<dir>', 'an experiment, a folder of runs, or a run') },
  options,
  examples: [
    'gq results runs/micro-claim',
    'gq results runs/micro-claim --emergence',
    'gq results runs/micro-ablations --from runs/micro-claim',
    'gq results runs/micro-claim --format latex --figures figures',
    'gq results runs/micro-claim --html --out claim.html',
  ],
  exits: { 1: 'a run could not be read, and is left out' },
  run: async (call, context) => (call.html ? writeHtml(call, context) : printResults(call, context)),
});

type ResultsCall = CallOf<typeof options> & { readonly dir: string };

async function printResults(call: ResultsCall, context: CommandContext): Promise<undefined> {
  expectAbsent(call, ['out', 'title'], 'without --html');
  const { dir, figures, force } = call;
  const format = parseTableFormat(call.format ?? (call.json ? 'json' : 'text'), resultsFormats);
  if (figures !== undefined) {
    expectWritable(`--figures ${figures}`, figures);
    expectOwnFigures(figures, force);
    expectOwnTraces(figures, force);
  }
  if (format !== 'text') expectAbsent(call, ['all'], `with --format ${format}, which has every table`);
  const results = await openResults(dir, call);
  context.stdout.write(renderResults(results, format, screenWidth(context.stdout), call));
  warnIncomplete(dir, results, context, call.from);
  if (figures !== undefined) {
    const drawn = await allFigures(results);
    const { files, warnings } = await writeFigures(drawn, figures, { force });
    for (const warning of warnings) context.stderr.write(`${warning}\n`);
    const traces = await writeTraces(results, figures, force);
    const names = [...drawn, ...(traces.length === 0 ? [] : [{ name: 'traces' }])].map(({ name }) => name);
    for (const line of absentFigures(results, names)) context.stderr.write(`${line}\n`);
    context.stderr.write(`${files.length + traces.length} files in ${figures}\n`);
  }
  context.stderr.write(missingText(results));
  if (format !== 'text') return;
  for (const [name, answer] of questionsAbout(dir).flatMap(questionFacts)) {
    context.stdout.write(`${name}: ${visibleLine(answer)}\n`);
  }
}

/** Why files that a reader of such results looks for were not written. */
const absentFigures = (results: Results, written: readonly string[]): string[] => [
  ...(written.includes('traces') ? [] : ['no traces.md: no rollout that is kept hacked or solved']),
  ...(written.includes('baselines') || !comparesActions(results)
    ? []
    : [
        'no baselines.svg: no arm has shares of solve kept and hacks removed, which need a ceiling and something learned',
      ]),
];

export function warnIncomplete(
  directory: string,
  { arms, leftOut, missing, failed }: Results,
  context: CommandContext,
  from: readonly string[] = [],
): void {
  const { stderr } = context;
  for (const { path, why } of leftOut) stderr.write(`left out: ${path}: ${why}\n`);
  if (leftOut.length > 0) context.exitCode = 1;
  const unfinished = arms.flatMap(({ runs }) => runs.filter(({ status }) => status === 'unfinished'));
  for (const { path, updates: saved, steps } of unfinished) {
    const made = steps.at(-1)?.update ?? 0;
    const count = made > saved ? `${made} updates made, ${saved} saved` : `${saved} updates saved`;
    stderr.write(`${path} is ${isTraining(path) ? 'in progress' : 'not finished'} (${count})\n`);
  }
  for (const { path, why } of failed) stderr.write(`failed: ${path}: ${why}\n`);
  const { runs } = findExperiment(directory, from);
  for (const { path } of runs.filter(({ sharedAs }) => sharedAs !== undefined))
    stderr.write(`taken from another folder: ${path}\n`);
  if (missing.length > 0) stderr.write(`not started yet in ${directory}: ${runsText(missing)}\n`);
  for (const sentence of describeSameBytes(directory)) stderr.write(`${sentence}\n`);
}

/** Which runs have no evaluation, with the commands that make them; nothing where all have. */
function missingText(results: Results): string {
  const missing = describeMissing(missingEvaluations(results));
  const unknown = describeUnknown(results);
  const lines = missing?.commands.map((line) => `  ${asTyped(line)}\n`).join('');
  const evaluated = missing === null ? '' : `${missing.sentence}\n${lines}`;
  return `${unknown === null ? '' : `${unknown}\n`}${evaluated}`;
}

function renderResults(results: Results, format: ResultsFormat, width: number, call: ResultsCall): string {
  const emergence = call.emergence || undefined;
  if (format === 'json') return jsonText(resultsJson(results, { emergence }));
  if (format === 'csv') return resultsCsv(results);
  const isBrief = format === 'text' && !call.all;
  const { tables: shown, others } = isBrief
    ? firstTables(results, { emergence })
    : { tables: allTables(results, { emergence }), others: [] };
  const tables = shown.map((table) => renderTable(table, format, width));
  if (format === 'latex') return tables.join('\n');
  // What was found comes first: the tables it stands on fill many screens.
  const words = describeResults(results).join('\n');
  if (format === 'markdown') return [`# ${results.name}\n`, `${asTyped(words)}\n`, ...tables].join('\n');
  return [`${results.name}\n`, `${wrapWords(words, width)}\n`, ...tables, ...allPrints(others, width)].join('\n');
}

/** Lines of the width, but for a call in brackets that does not fit: it stands whole below its sentence, to be copied. */
function wrapWords(words: string, width: number): string {
  const wrapped = words.split('\n').map((line) => {
    const [, sentence, call] = /^(.*) \((gq [^()]*)\)\.$/.exec(textWidth(line) > width ? line : '') ?? [];
    return call === undefined
      ? wrapText(asTyped(line), width)
      : `${wrapText(`${sentence}:`, width)}\n  ${asTyped(call)}`;
  });
  return wrapped.join('\n');
}

async function writeHtml(call: ResultsCall, context: CommandContext): Promise<CommandResult> {
  expectAbsent(call, ['format', 'figures', 'emergence', 'all'], 'with --html');
  const { dir, out: file = join(dir, 'report.html'), force } = call;
  expectPlainNames(`--out ${file}`, file);
  expectWritable(`--out ${file}`, dirname(file));
  expectOwnFile(file, force);
  using waiting = new Waiting(context.stderr);
  const results = await openResults(dir, call, (path, at, of) => waiting.on(`reading ${path} (${at} of ${of})`));
  waiting.on('drawing the report');
  const { title = results.name } = call;
  const commands = [sameCall(context), gqLine('results', dir)];
  const written = await writeReport(file, results, { title, commands, force });
  warnIncomplete(dir, results, context, call.from);
  const missing = missingEvaluations(results);
  const runs = results.arms.flatMap((arm) => arm.runs.map(({ path, seed }) => ({ arm: arm.arm, seed, path })));
  const text = (): string => `${written.file}\n${missingText(results)}`;
  return { value: { ...written, title, runs, missing, leftOut: results.leftOut }, text };
}
