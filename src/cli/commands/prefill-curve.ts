/** `gq prefill-curve RUN`: prefill sensitivity at the base and at the chosen checkpoints, in every state that the arm has. */
import type { Command } from 'commander';
import { shellLine } from '../../base/index.ts';
import {
  parsePrefillSet,
  prefillNames,
  prefillPoints,
  prefillSets,
  statesOf,
  writePrefillCurve,
} from '../../evaluate/index.ts';
import { openEvaluator, openLab, probeTokens } from '../../lab/index.ts';
import { prefillTable, renderTable } from '../../report/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { probeUnderBar } from '../probing.ts';
import { screenWidth } from '../terminal/screen.ts';
import { tellOn } from '../terminal/tell.ts';
import { parseWholeNumber } from '../values.ts';

interface PrefillOptions {
  readonly set: string;
  readonly every: string;
  readonly limit?: string;
  readonly device?: string;
  readonly json?: true;
}

export function configurePrefillCurve(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory')
    .option('--set <name>', `set of prompts: ${prefillSets.join(', ')}`, 'curve')
    .option(
      '--every <n>',
      'least updates between points, in multiples of it; every point is a checkpoint, and the last one is always included',
      '1',
    )
    .option('--limit <n>', 'use only the first n prompts of the set; such points are printed and belong to no curve')
    .option('--device <name>', 'device to compute on; the one the run was trained on when absent')
    .option('--json', 'print the points as JSON')
    .addHelpText(
      'after',
      examplesText('gq prefill-curve runs/vanilla-1', 'gq prefill-curve runs/vanilla-1 --every 20 --json'),
    )
    .action((path: string, options: PrefillOptions) => runPrefill(path, options, context));
}

async function runPrefill(path: string, options: PrefillOptions, context: CommandContext): Promise<void> {
  const every = parseWholeNumber(options.every, '--every', 1);
  const set = parsePrefillSet(options.set);
  const limit = options.limit === undefined ? null : parseWholeNumber(options.limit, '--limit', 1);
  const run = RunDirectory.open(path);
  await using lab = await openLab({ run }, { device: options.device, longerBy: probeTokens, warn: tellOn(context) });
  const { config, hasQuarantine } = lab;
  const evaluator = await openEvaluator(lab);
  const names = prefillNames(statesOf({ hasQuarantine }), run.listCheckpoints(), every, set, limit);
  evaluator.expectPossible(names);
  const found = await probeUnderBar(evaluator, names, shellLine('gq', 'prefill-curve', path), context);
  const { [set]: whole = [] } = await writePrefillCurve(path);
  if (found === null) return;
  const points = limit === null ? whole : prefillPoints(found, set, limit);
  if (options.json) {
    context.stdout.write(`${JSON.stringify({ run: path, set, limit, points }, null, 2)}\n`);
    return;
  }
  const prompts = limit === null ? set : `the first ${limit} prompts of ${set}`;
  const table = renderTable(prefillTable(points, prompts, hasQuarantine), 'text', screenWidth(context.stdout));
  context.stdout.write(`${path}: ${run.readManifest().arm}, seed ${config.seed}\n\n${table}`);
}
