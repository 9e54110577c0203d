/** `gq gate RUN`: judges the gate as a classifier, from the ledger, the verdicts, the stored features and the directions. */
import type { Command } from 'commander';
import { formatRate, type Rate } from '../../evaluate/index.ts';
import { gateSettingsOf, gateTailsOf } from '../../grpo/index.ts';
import { expectSamePlugins } from '../../lab/index.ts';
import {
  attributeGradient,
  attributionWindows,
  dealtUnchanged,
  featuredRollouts,
  gateWindows,
  hasGate,
  type IdealDirection,
  idealDirection,
  judgeGate,
  judgeMonitor,
  judgeReinforced,
  monitorWindows,
  type RandomBand,
  randomBand,
  reportDirections,
} from '../../measure/index.ts';
import { type JudgedRollout, openJudged } from '../../oracle/index.ts';
import {
  attributionTable,
  attributionWindowTable,
  bandTable,
  directionTable,
  driftTable,
  gateTable,
  idealTable,
  monitorTable,
  monitorWindowTable,
  renderTable,
  windowTable,
} from '../../report/index.ts';
import { RunDirectory, readCourse, readDirections, readFeatures } from '../../run/index.ts';
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
  const rollouts = (await openJudged(run).rows()).filter(({ source }) => source === 'student');
  const [all, reinforced] = [judgeGate(rollouts), judgeReinforced(rollouts)];
  const windows = gateWindows(rollouts, window, gateTailsOf(run.readManifest().config.arm));
  const { band, ideal, missing } = controlsOf(run, rollouts, parseWholeNumber(options.seed, '--seed'));
  const [monitor, watched] = [judgeMonitor(rollouts), monitorWindows(rollouts, window)];
  const [attribution, attributions] = [attributeGradient(rollouts), attributionWindows(rollouts, window)];
  const unchanged = unchangedOf(run, rollouts);
  const directions = reportDirections(readDirections(run), (await readCourse(run)).steps, ideal);
  if (options.json) {
    const fitted = ideal === null ? null : { fittedOn: 'labels, diagnosis only', ...ideal, direction: undefined };
    const found = {
      run: path,
      all,
      reinforced,
      band,
      ideal: fitted,
      directions,
      windows,
      monitor,
      monitorWindows: watched,
      attribution,
      attributionWindows: attributions,
      unchangedRoutes: unchanged,
    };
    context.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
    return;
  }
  const { arm, config } = run.readManifest();
  const gated = hasGate(all) || rollouts.some(({ score }) => score !== null);
  const nothing = `There is nothing to judge: the arm ${arm} neither watched nor gated a rollout.`;
  const tables = [
    ...(monitor === null ? [] : [monitorTable(monitor), monitorWindowTable(watched)]),
    ...(gated ? [gateTable(all, reinforced)] : []),
    ...(band === null ? [] : [bandTable(all.separation, band)]),
    ...(ideal === null ? [] : [idealTable(all.separation, ideal)]),
    ...(directions.length === 0 ? [] : [directionTable(directions)]),
    ...(attribution === null ? [] : [attributionTable(attribution), attributionWindowTable(attributions)]),
    ...(gated ? [windowTable(windows, false), windowTable(windows, true)] : []),
    ...(windows.some(({ scores }) => scores !== null) ? [driftTable(windows)] : []),
  ];
  const head = `${path}: ${arm}, seed ${config.seed}`;
  const shown = tables.map((table) => renderTable(table, 'text', screenWidth(context.stdout)).trimEnd());
  const dealt =
    unchanged === null ? [] : [`Routes that dealing out at random left as they were: ${formatRate(unchanged)}.`];
  const notes = [...(gated || monitor !== null ? missing : [nothing]), ...dealt];
  context.stdout.write(`${[head, ...notes, ...shown].join('\n\n')}\n`);
}

/** How much of the gate a mass-matched placebo leaves; null for another arm. */
function unchangedOf(run: RunDirectory, rollouts: readonly JudgedRollout[]): Rate | null {
  const gate = gateSettingsOf(run.readManifest().config.arm);
  return gate?.placebo === 'mass-matched' ? dealtUnchanged(rollouts, gate) : null;
}

interface Controls {
  readonly band: RandomBand | null;
  readonly ideal: IdealDirection | null;
  /** A sentence that says why there is neither; empty if there is. */
  readonly missing: readonly string[];
}

/** Random directions and the ideal one, over the stored features. */
function controlsOf(run: RunDirectory, rollouts: readonly JudgedRollout[], seed: number): Controls {
  const without = (reason: string): Controls => ({
    band: null,
    ideal: null,
    missing: [`No random directions and no ideal one: ${reason}.`],
  });
  const { features, config } = run.readManifest();
  const gate = gateSettingsOf(config.arm);
  if (gate === null) return without(`the arm ${config.arm.kind} has no gate on features`);
  const stored = readFeatures(run);
  if (stored.length === 0) return without('this run stored no features (output.storeFeatures)');
  const shape = { modules: features.modules.length, rank: features.rank, kind: gate.score };
  const featured = featuredRollouts(rollouts, stored, shape.modules * shape.rank);
  const band = randomBand(featured, { ...shape, seed });
  if (band === null) return without('no update has both hacks and clean rollouts');
  return { band, ideal: idealDirection(featured, shape), missing: [] };
}
