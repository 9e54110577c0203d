/** `gq report DIR`: writes one HTML file about a run, an experiment or a folder of runs, evaluated or not. */
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { expectWritable } from '../../base/node/index.ts';
import { describeMissing, expectOwnFile, missingEvaluations, shellLine, writeReport } from '../../report/index.ts';
import { openResults } from '../../study/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { warnIncomplete } from '../print-results.ts';
import { Waiting } from '../terminal/waiting.ts';

interface ReportCommandOptions {
  readonly out?: string;
  readonly title?: string;
  readonly force?: true;
  readonly json?: true;
}

export function configureReport(command: Command, context: CommandContext): void {
  command
    .argument('<dir>', 'a run, an experiment, or a folder of runs')
    .option('--out <file>', 'file to write; DIR/report.html when absent')
    .option('--title <text>', "title of the report; the experiment's or the folder's name when absent")
    .option('--force', 'overwrite a file that gq did not make')
    .option('--json', 'print what was written, and what is missing, as JSON')
    .addHelpText('after', examplesText('gq report runs/activation-1', 'gq report runs/micro-claim --out claim.html'))
    .action((directory: string, options: ReportCommandOptions) => runReport(directory, options, context));
}

async function runReport(directory: string, options: ReportCommandOptions, context: CommandContext): Promise<void> {
  const file = options.out ?? join(directory, 'report.html');
  const force = options.force === true;
  expectWritable(`--out ${file}`, dirname(file));
  expectOwnFile(file, force);
  using waiting = new Waiting(context.stderr);
  const results = await openResults(directory, {}, (path, at, of) => waiting.on(`reading ${path} (${at} of ${of})`));
  waiting.on('drawing the report');
  const title = options.title ?? results.name;
  const again = [
    shellLine('gq', 'report', directory, ...(options.out === undefined ? [] : ['--out', options.out])),
    shellLine('gq', 'results', directory),
  ];
  const written = await writeReport(file, results, { title, commands: again, force });
  warnIncomplete(directory, results, context);
  const missing = missingEvaluations(results);
  if (options.json) {
    const runs = results.arms.flatMap((arm) => arm.runs.map(({ path, seed }) => ({ arm: arm.arm, seed, path })));
    context.stdout.write(
      `${JSON.stringify({ ...written, title, runs, missing, leftOut: results.leftOut }, null, 2)}\n`,
    );
    return;
  }
  const commands = missing.flatMap((one) => one.commands.map((line) => `  ${line}\n`));
  const sentence = describeMissing(missing);
  context.stdout.write(`${written.file}\n${sentence === null ? '' : `${sentence}\n${commands.join('')}`}`);
}
