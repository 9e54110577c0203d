/** `gq eval-curve RUN`: evaluates a set at the base and at the chosen checkpoints, in every state that the arm has. */

import type { Command } from 'commander';
import { exitCodes } from '../../base/index.ts';
import {
  type CurveChoice,
  curveNames,
  curvePrompts,
  curveSets,
  EvaluationStore,
  evaluateAll,
  parseCurveSet,
  statesOf,
  writeCurve,
} from '../../evaluate/index.ts';
import { onInterrupt, openEvaluator, openLab } from '../../lab/index.ts';
import { curveTable, renderTable, shellLine } from '../../report/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { Progress } from '../terminal/progress.ts';
import { screenWidth } from '../terminal/screen.ts';
import { tellOn } from '../terminal/tell.ts';
import { parseWholeNumber } from '../values.ts';

interface CurveOptions {
  readonly set: string;
  readonly every: string;
  readonly device?: string;
  readonly json?: true;
}

export function configureEvalCurve(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory')
    .option(
      '--set <name>',
      `set of prompts: ${curveSets.join(', ')}; curve is ${curvePrompts} validation problems`,
      'curve',
    )
    .option(
      '--every <n>',
      'least updates between points, in multiples of it; every point is a checkpoint, and the last one is always included',
      '1',
    )
    .option('--device <name>', 'device to compute on; the one the run was trained on when absent')
    .option('--json', 'print the rates as JSON')
    .addHelpText(
      'after',
      examplesText('gq eval-curve runs/activation-1', 'gq eval-curve runs/activation-1 --set test-original --every 20'),
    )
    .action((path: string, options: CurveOptions) => runCurve(path, options, context));
}

async function runCurve(path: string, options: CurveOptions, context: CommandContext): Promise<void> {
  const every = parseWholeNumber(options.every, '--every', 1);
  const set = parseCurveSet(options.set);
  const run = RunDirectory.open(path);
  await using lab = await openLab({ run }, { device: options.device, warn: tellOn(context) });
  const { config, hasQuarantine } = lab;
  const evaluator = await openEvaluator(lab);
  const names = curveNames(statesOf({ hasQuarantine }), run.listCheckpoints(), every, set);
  const bar = new Progress(context.stderr, 'evaluation', names.length);
  using interruption = onInterrupt(context.stderr, 'finishing this evaluation');
  const end = await evaluateAll(evaluator, names, {
    onProgress: (done) => bar.show(done),
    signal: interruption.signal,
  });
  const { [set]: points = [] } = await writeCurve(path, set);
  if (end === 'interrupted') {
    context.stdout.write(
      `interrupted; finished evaluations are kept; go on with: ${shellLine('gq', 'eval-curve', path)} and the same options\n`,
    );
    context.exitCode = exitCodes.interrupted;
    return;
  }
  const choice = set === 'curve' ? new EvaluationStore(path).curveChoice() : null;
  if (options.json) {
    context.stdout.write(`${JSON.stringify({ run: path, set, curve: choice, points }, null, 2)}\n`);
    return;
  }
  const head = `${path}: ${run.readManifest().arm}, seed ${config.seed}\n${choice === null ? '' : `${choiceText(choice)}\n`}`;
  const table = renderTable(curveTable(points, set, hasQuarantine), 'text', screenWidth(context.stdout));
  context.stdout.write(`${head}\n${table}`);
}

function choiceText({ ids, pool, solved, poolSolved }: CurveChoice): string {
  const text = `${ids.length} of ${pool} validation prompts, ${solved} of them solved by the base (${poolSolved} of ${pool} in the pool)`;
  return ids.length < curvePrompts ? `${text}; there are fewer than ${curvePrompts}` : text;
}
