/**
 * `gq smoke`: checks everything that must hold before a real run. It runs every verification and then a short routed run of a tiny
 * model through the real pipeline. Each part prints a line; after a failure the others still run, and the command fails.
 */
import { existsSync } from 'node:fs';
import { UserError, wrapText } from '../../base/index.ts';
import { findDevice, resolveBuiltin } from '../../lab/index.ts';
import {
  type Check,
  reportAdapters,
  reportMarkers,
  reportParity,
  reportPartition,
  reportRewards,
  reportScience,
  reportTinyRun,
  type VerifyReport,
} from '../../verify/index.ts';
import { type CallOf, type CommandContext, command, flag, word } from '../command.ts';
import { deviceOption } from '../options.ts';
import { screenWidth } from '../terminal/screen.ts';
import { checksJson, renderChecks } from '../terminal/tables.ts';
import { TrainDisplay } from '../terminal/train-display.ts';
import { notesText } from './verify.ts';

const options = {
  device: deviceOption,
  golden: word(
    '<dir>',
    'stored values for the parity check; those of the repository, where there are any, when absent',
  ),
  verbose: flag('print every check, not only those that fail'),
  json: flag('print {parts: [{name, seconds, checks}]}'),
};
type SmokeCall = CallOf<typeof options>;

export const smokeCommand = command({
  options,
  examples: ['gq smoke', 'gq smoke --device reference', 'gq smoke --golden test/golden --json'],
  exits: { 1: 'a check fails' },
  run: runSmoke,
});

interface SmokePart {
  readonly name: string;
  readonly seconds: number;
  readonly checks: readonly Check[];
}

async function runSmoke(call: SmokeCall, context: CommandContext): Promise<void> {
  const { device, golden, verbose, json } = call;
  // A wrong device or folder is refused before the first part runs.
  findDevice(device);
  if (golden !== undefined && !existsSync(golden)) {
    throw new UserError({ call: `--golden ${golden}`, expected: 'a folder of stored values', found: 'no such folder' });
  }
  const parts: SmokePart[] = [];
  for (const [name, reportOf] of Object.entries(smokeParts(call, context))) {
    const began = performance.now();
    const report = await reportOf();
    const part = { name, seconds: (performance.now() - began) / 1000, checks: report.checks };
    parts.push(part);
    if (!json) context.stdout.write(partText(part, report, verbose, screenWidth(context.stdout)));
  }
  const failed = parts.filter(({ checks }) => checks.some(({ pass }) => !pass)).map(({ name }) => name);
  if (failed.length > 0) context.exitCode = 1;
  const seconds = parts.reduce((sum, part) => sum + part.seconds, 0);
  const outcome = failed.length === 0 ? `smoke: all ${parts.length} parts hold` : `SMOKE FAILED: ${failed.join(', ')}`;
  context.stdout.write(json ? checksJson({ parts }) : `${outcome} (${seconds.toFixed(0)} s)\n`);
}

/** One line a part; the checks themselves where one fails, or where all are asked for. */
function partText({ name, seconds, checks }: SmokePart, report: VerifyReport, verbose: boolean, width: number): string {
  const failed = checks.filter(({ pass }) => !pass);
  const shown = verbose ? checks : failed;
  const isLeftOut = checks.length === 0;
  const first = isLeftOut ? report.notes.trim() : `${checks.length - failed.length} of ${checks.length} checks pass`;
  const verdict = isLeftOut ? 'left out' : failed.length === 0 ? 'holds' : 'FAILS';
  const line = `${name.padEnd(10)} ${verdict.padEnd(9)} ${first} (${seconds.toFixed(1)} s)`;
  const notes = verbose && !isLeftOut ? notesText(report, width) : '';
  return `${wrapText(line, width)}\n${notes}${shown.length === 0 ? '' : renderChecks(shown, name, width)}`;
}

function smokeParts(
  { device, golden }: SmokeCall,
  context: CommandContext,
): Readonly<Record<string, () => Promise<VerifyReport>>> {
  const { config } = resolveBuiltin(null, [
    'environment.loopholes=["run_tests", "sentinel"]',
    'environment.heldOutLoopholes=["exit_code"]',
    'pairs.select=["tag:run_tests,sentinel"]',
  ]);
  return {
    rewards: () => reportRewards(config),
    markers: () => reportMarkers(config),
    partition: () => reportPartition(config),
    science: () => reportScience(config),
    adapters: () => reportAdapters(device),
    parity: () => reportParity(device, golden),
    run: async () => {
      let table = '';
      const stdout = { write: (text: string) => (table += text) };
      const report = await reportTinyRun(device, (run) => new TrainDisplay({ stdout, stderr: context.stderr }, run));
      return { ...report, notes: table };
    },
  };
}
