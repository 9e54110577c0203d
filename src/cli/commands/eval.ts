/** `gq eval RUN`: evaluates a checkpoint, by default the last, on every set, in the base state and in every state of the arm. */

import type { Command } from 'commander';
import { exitCodes } from '../../base/index.ts';
import { compareStates, type Evaluation, finalSets, parseSet, summarise } from '../../evaluate/index.ts';
import { evaluateRun, onInterrupt } from '../../lab/index.ts';
import {
  finalEvaluationTable,
  loopholeEvaluationTable,
  renderTable,
  scaleTable,
  shellLine,
  surfacedTable,
} from '../../report/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { Progress } from '../terminal/progress.ts';
import { screenWidth } from '../terminal/screen.ts';
import { tellOn } from '../terminal/tell.ts';
import { parseWholeNumber, shares } from '../values.ts';

interface EvalOptions {
  readonly sets: string;
  readonly scales: string;
  readonly update?: string;
  readonly limit?: string;
  readonly device?: string;
  readonly json?: true;
}

export function configureEval(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory')
    .option('--sets <names>', 'sets of prompts, separated by commas', finalSets.join(','))
    .option(
      '--scales <list>',
      'also evaluate these scales of the quarantine on the first set, e.g. 0,0.25,0.5,0.75,1',
      '',
    )
    .option('--update <n>', 'update of the checkpoint; the last one when absent')
    .option('--limit <n>', 'use only the first n prompts of each set')
    .option('--device <name>', 'device to compute on; the one the run was trained on when absent')
    .option('--json', 'print the rates as JSON')
    .addHelpText(
      'after',
      examplesText('gq eval runs/activation-1', 'gq eval runs/activation-1 --scales 0,0.25,0.5,0.75,1 --json'),
    )
    .action((path: string, options: EvalOptions) => runEval(path, options, context));
}

async function runEval(path: string, options: EvalOptions, context: CommandContext): Promise<void> {
  const sets = [...new Set(options.sets.split(',').map((name) => parseSet(name.trim())))];
  const scales = shares(options.scales, '--scales');
  const limit = options.limit === undefined ? null : parseWholeNumber(options.limit, '--limit', 1);
  const asked = options.update === undefined ? undefined : parseWholeNumber(options.update, '--update');
  const run = RunDirectory.open(path);
  let bar: Progress | null = null;
  using interruption = onInterrupt(context.stderr, 'finishing this evaluation');
  const { end, update, evaluations } = await evaluateRun(path, {
    sets,
    scales,
    limit,
    ...(asked === undefined ? {} : { update: asked }),
    ...(options.device === undefined ? {} : { device: options.device }),
    warn: tellOn(context),
    onProgress(done, of) {
      bar ??= new Progress(context.stderr, 'evaluation', of);
      bar.show(done);
    },
    signal: interruption.signal,
  });
  if (end === 'interrupted') {
    context.stdout.write(
      `interrupted; finished evaluations are kept; go on with: ${shellLine('gq', 'eval', path)} and the same options\n`,
    );
    context.exitCode = exitCodes.interrupted;
    return;
  }
  context.stdout.write(
    options.json
      ? evaluationJson(run, update, evaluations)
      : evaluationText(run, update, evaluations, screenWidth(context.stdout)),
  );
}

function evaluationText(run: RunDirectory, update: number, found: readonly Evaluation[], width: number): string {
  const { arm, config, hasQuarantine } = run.readManifest();
  const tables = [
    finalEvaluationTable(found, hasQuarantine),
    loopholeEvaluationTable(found, config.environment.heldOutLoopholes),
    scaleTable(found),
    surfacedTable(found),
  ].filter(({ rows }) => rows.length > 0);
  const head = `${run.path}: ${arm}, seed ${config.seed}, after ${update} updates`;
  return `${[head, ...tables.map((table) => renderTable(table, 'text', width).trimEnd())].join('\n\n')}\n`;
}

function evaluationJson(run: RunDirectory, update: number, found: readonly Evaluation[]): string {
  const { config } = run.readManifest();
  const sets = [...new Set(found.map(({ set }) => set))];
  const states = sets.map((set) => {
    const own = found.filter((one) => one.set === set);
    const rows = (state: string) => own.find((one) => one.state === state)?.rows;
    const [full, deployed] = [rows('full'), rows('deployed')];
    const change = full === undefined || deployed === undefined ? null : compareStates(full, deployed);
    const problems = own[0]?.problems ?? null;
    return {
      set,
      problems,
      states: Object.fromEntries(own.map(({ state, rows: all }) => [state, summarise(all)])),
      change,
    };
  });
  return `${JSON.stringify({ run: run.path, arm: config.arm.kind, seed: config.seed, update, sets: states }, null, 2)}\n`;
}
