/** `gq probe RUN`: leak probes. Does the hack come back in the deployed policy when the prompt says something else than in deployment? */
import type { Command } from 'commander';
import { shellLine } from '../../base/index.ts';
import {
  lastCheckpoint,
  leakProbes,
  type ProbeName,
  parseProbedSet,
  probedSets,
  statesOf,
} from '../../evaluate/index.ts';
import { openEvaluator, openLab, probeTokens } from '../../lab/index.ts';
import { leakTable, renderTable } from '../../report/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { probeUnderBar, probeValue } from '../probing.ts';
import { screenWidth } from '../terminal/screen.ts';
import { tellOn } from '../terminal/tell.ts';
import { parseWholeNumber } from '../values.ts';

interface ProbeOptions {
  readonly prompts: string;
  readonly update?: string;
  readonly limit?: string;
  readonly device?: string;
  readonly json?: true;
}

export function configureProbe(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory')
    .option('--prompts <set>', `set of prompts: ${probedSets.join(', ')}`, 'test-original')
    .option('--update <n>', 'update of the checkpoint; the last one when absent')
    .option('--limit <n>', 'use only the first n prompts of the set')
    .option('--device <name>', 'device to compute on; the one the run was trained on when absent')
    .option('--json', 'print the rates as JSON')
    .addHelpText('after', examplesText('gq probe runs/inoculation-1', 'gq probe runs/activation-1 --limit 64 --json'))
    .action((path: string, options: ProbeOptions) => runProbe(path, options, context));
}

async function runProbe(path: string, options: ProbeOptions, context: CommandContext): Promise<void> {
  const set = parseProbedSet(options.prompts);
  const limit = options.limit === undefined ? null : parseWholeNumber(options.limit, '--limit', 1);
  const run = RunDirectory.open(path);
  await using lab = await openLab({ run }, { device: options.device, longerBy: probeTokens, warn: tellOn(context) });
  const { config, hasQuarantine } = lab;
  const evaluator = await openEvaluator(lab);
  const update = options.update === undefined ? lastCheckpoint(run) : parseWholeNumber(options.update, '--update');
  const leaks = leakProbes(config.arm, evaluator.words.inWords);
  const points = [
    { state: 'base' as const, update: 0 },
    ...statesOf({ hasQuarantine }).map((state) => ({ state, update })),
  ].map((point) => ({ ...point, set, limit }));
  evaluator.expectPossible(points);
  const names = points.flatMap((point) => leaks.map(({ probe }): ProbeName => ({ ...point, probe })));
  const found = await probeUnderBar(evaluator, names, shellLine('gq', 'probe', path), context);
  if (found === null) return;
  if (options.json) {
    const categories = leaks.map(({ category, probe }) => ({
      category,
      probes: found.filter((one) => one.probe.name === probe.name).map(probeValue),
    }));
    context.stdout.write(`${JSON.stringify({ run: path, arm: config.arm.kind, update, categories }, null, 2)}\n`);
    return;
  }
  const head = `${path}: ${run.readManifest().arm}, seed ${config.seed}, after ${update} updates`;
  const table = renderTable(leakTable(leaks, found, hasQuarantine), 'text', screenWidth(context.stdout));
  context.stdout.write(`${head}\n\n${table}`);
}
