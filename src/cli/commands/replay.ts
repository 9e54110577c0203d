/** `gq replay RUN --gate …`: shows the routes that another gate would have chosen on the stored features, without training again. */
import type { Command } from 'commander';
import { wrapText } from '../../base/index.ts';
import { expectSamePlugins, partsOf } from '../../lab/index.ts';
import { type Replay, RunDirectory, replayGate, routes } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { screenWidth } from '../terminal/screen.ts';
import { collect, parseCount, parseWholeNumber } from '../values.ts';

interface ReplayCommandOptions {
  readonly gate: readonly string[];
  readonly seed?: number;
  readonly window: number;
  readonly json?: boolean;
}

export function configureReplay(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory with stored features')
    .option('--gate <key=value>', 'change one key of the gate (the keys of `arm`); may be repeated', collect, [])
    .option('--seed <n>', 'seed of the random direction of placebo=haar', (text) => parseWholeNumber(text, '--seed'))
    .option('--window <n>', 'number of updates per line', parseCount, 10)
    .option('--json', 'print the counts as JSON')
    .addHelpText(
      'after',
      examplesText(
        'gq replay runs/activation-1 --gate keepTail=0.2',
        'gq replay runs/activation-1 --gate score=cosine --gate halfLife=0',
        'gq replay runs/activation-1 --gate placebo=haar --seed 7 --json',
      ),
    )
    .action(async (path: string, { gate, seed, window, json }: ReplayCommandOptions) => {
      const options = { gate, windowUpdates: window, ...(seed === undefined ? {} : { seed }) };
      const run = RunDirectory.open(path);
      expectSamePlugins(`replay ${path}`, run);
      const replay = await replayGate(run, options, await partsOf(run.readManifest().config));
      context.stdout.write(json ? `${JSON.stringify(replay, null, 2)}\n` : render(replay, screenWidth(context.stdout)));
    });
}

function render({ granularity, matrix, windows, decisions, agree }: Replay, width: number): string {
  const cell = (value: string | number): string => String(value).padStart(9);
  const counts = (table: Readonly<Record<string, number>>): string => routes.map((route) => table[route]).join('/');
  return [
    `${'was \\ would be'.padEnd(15)}${routes.map(cell).join('')}`,
    ...routes.map((was) => `${was.padEnd(15)}${routes.map((is) => cell(matrix[was][is])).join('')}`),
    '',
    `${'updates'.padEnd(15)}${'was k/a/r'.padStart(15)}${'would be k/a/r'.padStart(18)}${'same'.padStart(12)}`,
    ...windows.map((window) => {
      const updates = `${window.from}-${window.to}`.padEnd(15);
      const same = `${window.agree}/${window.decisions}`.padStart(12);
      return `${updates}${counts(window.before).padStart(15)}${counts(window.after).padStart(18)}${same}`;
    }),
    '',
    wrapText(
      `${agree}/${decisions} ${granularity}s have the same route. This is a counterfactual on the same rollouts: nothing was trained again.`,
      width,
    ),
    '',
  ].join('\n');
}
