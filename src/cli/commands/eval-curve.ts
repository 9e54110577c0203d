/** `gq eval-curve RUN`: evaluates the curve set at the base and at the chosen checkpoints, in every state that the arm has. */
import type { Command } from 'commander';
import { curveNames, EvaluationStore, evaluateAll, statesOf, summarise } from '../../evaluate/index.ts';
import { onInterrupt, openRun, Resources } from '../../lab/index.ts';
import { curveTable, renderTable, shellLine } from '../../report/index.ts';
import { type CommandContext, examplesText, interruptedCode } from '../command.ts';
import { Progress } from '../terminal/progress.ts';
import { screenWidth } from '../terminal/screen.ts';
import { parseWholeNumber } from '../values.ts';

interface CurveOptions {
  readonly every: string;
  readonly device?: string;
  readonly json?: true;
}

export function configureEvalCurve(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory')
    .option(
      '--every <n>',
      'updates between points; every point is a checkpoint, and the last one is always included',
      '10',
    )
    .option('--device <name>', 'device to compute on; the one the run was trained on when absent')
    .option('--json', 'print the rates as JSON')
    .addHelpText('after', examplesText('gq eval-curve runs/activation-1', 'gq eval-curve runs/activation-1 --every 20'))
    .action((path: string, options: CurveOptions) => runCurve(path, options, context));
}

async function runCurve(path: string, options: CurveOptions, context: CommandContext): Promise<void> {
  const every = parseWholeNumber(options.every, '--every', 1);
  await using resources = new Resources();
  const device = options.device === undefined ? {} : { device: options.device };
  const { run, config, evaluator, hasQuarantine } = await openRun(path, resources, device);
  const names = curveNames(statesOf({ hasQuarantine }), run.listCheckpoints(), every);
  const bar = new Progress(context.stderr, 'evaluation', names.length);
  using interruption = onInterrupt(context.stderr, 'finishing this evaluation');
  const end = await evaluateAll(evaluator, names, {
    onProgress: (done) => bar.show(done),
    signal: interruption.signal,
  });
  if (end === 'interrupted') {
    context.stdout.write(
      `interrupted; finished evaluations are kept; go on with: ${shellLine('gq', 'eval-curve', path)} and the same options\n`,
    );
    context.exitCode = interruptedCode;
    return;
  }
  const store = new EvaluationStore(path);
  const found = names.flatMap((name) => store.find(name) ?? []);
  const choice = store.curveChoice();
  if (options.json) {
    const points = found.map(({ update, state, rows }) => ({ update, state, ...summarise(rows) }));
    context.stdout.write(`${JSON.stringify({ run: path, curve: choice, points }, null, 2)}\n`);
    return;
  }
  const subset =
    choice === null
      ? ''
      : `${choice.ids.length} of ${choice.pool} validation prompts, ${choice.solved} of them solved by the base (${choice.poolSolved} of ${choice.pool} in the pool)`;
  const head = `${path}: ${config.arm.kind}, seed ${config.seed}\n${subset}`;
  context.stdout.write(
    `${head}\n\n${renderTable(curveTable(found, hasQuarantine), 'text', screenWidth(context.stdout))}`,
  );
}
