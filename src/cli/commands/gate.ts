/** `gq gate RUN`: judges the gate as a classifier, from the ledger, the verdicts and the stored features. */
import type { Command } from 'commander';
import type { JudgedRollout } from '../../analyse/index.ts';
import {
  gateWindows,
  judgeGate,
  judgeReinforced,
  type RandomBand,
  randomBand,
  readJudged,
} from '../../analyse/index.ts';
import { gateSettingsOf, gateTailsOf } from '../../grpo/index.ts';
import { expectSamePlugins } from '../../lab/index.ts';
import { bandTable, driftTable, gateTable, renderTable, windowTable } from '../../report/index.ts';
import { RunDirectory, readFeatures } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { screenWidth } from '../terminal/screen.ts';
import { parseWholeNumber } from '../values.ts';

interface GateOptions {
  readonly window: string;
  readonly seed: string;
  readonly json?: true;
}

export function configureGate(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory')
    .option('--window <n>', 'number of updates in a window', '10')
    .option('--seed <n>', 'seed of the random directions', '1000')
    .option('--json', 'print everything as JSON')
    .addHelpText('after', examplesText('gq gate runs/activation-1', 'gq gate runs/activation-1 --window 20 --json'))
    .action((path: string, options: GateOptions) => runGate(path, options, context));
}

async function runGate(path: string, options: GateOptions, context: CommandContext): Promise<void> {
  const window = parseWholeNumber(options.window, '--window', 1);
  const run = RunDirectory.open(path);
  expectSamePlugins(`gq gate ${path}`, run);
  const rollouts = (await readJudged(run)).filter(({ source }) => source === 'student');
  const [all, reinforced] = [judgeGate(rollouts), judgeReinforced(rollouts)];
  const windows = gateWindows(rollouts, window, gateTailsOf(run.readManifest().config.arm));
  const band = replayed(run, rollouts, parseWholeNumber(options.seed, '--seed'));
  if (options.json) {
    const found = 'missing' in band ? null : band;
    context.stdout.write(`${JSON.stringify({ run: path, all, reinforced, band: found, windows }, null, 2)}\n`);
    return;
  }
  const { arm, seed } = run.readManifest().config;
  const tables = [
    gateTable(all, reinforced),
    ...('missing' in band ? [] : [bandTable(all.separation, band)]),
    windowTable(windows, false),
    windowTable(windows, true),
    driftTable(windows),
  ];
  const head = `${path}: ${arm.kind}, seed ${seed}`;
  const missing = 'missing' in band ? [band.missing] : [];
  context.stdout.write(
    `${[head, ...missing, ...tables.map((table) => renderTable(table, 'text', screenWidth(context.stdout)).trimEnd())].join('\n\n')}\n`,
  );
}

function replayed(
  run: RunDirectory,
  rollouts: readonly JudgedRollout[],
  seed: number,
): RandomBand | { missing: string } {
  const { features, config } = run.readManifest();
  const gate = gateSettingsOf(config.arm);
  if (gate === null) {
    return { missing: `No random directions: the arm ${config.arm.kind} has no gate on features.` };
  }
  const stored = readFeatures(run);
  if (stored.length === 0)
    return { missing: 'No random directions: this run stored no features (output.storeFeatures).' };
  const options = { modules: features.modules.length, rank: features.rank, kind: gate.score, seed };
  return (
    randomBand(rollouts, stored, options) ?? {
      missing: 'No random directions: no update has both hacks and clean rollouts.',
    }
  );
}
