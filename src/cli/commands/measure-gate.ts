/** `gq measure gate` and `gq measure monitor`: the gate and the monitor of a run as classifiers, from its ledger, verdicts and stored features. */
import { exitCodes } from '../../base/index.ts';
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
  type Table,
  windowTable,
} from '../../report/index.ts';
import { RunDirectory, readCourse, readDirections, readFeatures } from '../../run/index.ts';
import { argument, type CommandContext, command, whole } from '../command.ts';
import { jsonOption } from '../options.ts';
import { printAnswer } from '../outputs.ts';

const windowOption = whole('<n>', 'number of updates in a window', { usual: 10 });

export const gateCommand = command({
  arguments: { run: argument('<run>', 'a run directory') },
  options: {
    window: windowOption,
    seed: whole('<n>', 'seed of the random directions', { least: 0, usual: 1000 }),
    json: jsonOption('everything'),
  },
  examples: ['gq measure gate runs/activation-1', 'gq measure gate runs/activation-1 --window 20 --json'],
  run: measureGate,
});

export const monitorCommand = command({
  arguments: { run: argument('<run>', 'a run directory whose arm watches rollouts') },
  options: { window: windowOption, json: jsonOption('rates and windows') },
  examples: ['gq measure monitor runs/penalty-1', 'gq measure monitor runs/penalty-1 --window 20 --json'],
  exits: { 1: 'the arm watches nothing' },
  async run({ run: path, window, json }, context) {
    const run = openSame('monitor', path);
    const rollouts = await readSampled(run);
    const monitor = judgeMonitor(rollouts);
    const windows = monitorWindows(rollouts, window);
    if (monitor === null) context.exitCode = exitCodes.failed;
    printAnswer(context, json, { run: path, monitor, windows }, (width) => {
      const { arm, config } = run.readManifest();
      const head = `${path}: ${arm}, seed ${config.seed}`;
      if (monitor === null) return `${head}\n\nThere is nothing to judge: the arm ${arm} watched no rollout.\n`;
      return renderTables(head, [], [monitorTable(monitor), monitorWindowTable(windows)], width);
    });
  },
});

function openSame(what: string, path: string): RunDirectory {
  const run = RunDirectory.open(path);
  expectSamePlugins(`gq measure ${what} ${path}`, run);
  return run;
}

const readSampled = async (run: RunDirectory): Promise<JudgedRollout[]> =>
  (await openJudged(run).rows()).filter(({ source }) => source === 'student');

function renderTables(head: string, notes: readonly string[], tables: readonly Table[], width: number): string {
  const shown = tables.map((table) => renderTable(table, 'text', width).trimEnd());
  return `${[head, ...notes, ...shown].join('\n\n')}\n`;
}

interface GateCall {
  readonly run: string;
  readonly window: number;
  readonly seed: number;
  readonly json: boolean;
}

async function measureGate({ run: path, window, seed, json }: GateCall, context: CommandContext): Promise<void> {
  const run = openSame('gate', path);
  const rollouts = await readSampled(run);
  const [all, reinforced] = [judgeGate(rollouts), judgeReinforced(rollouts)];
  const windows = gateWindows(rollouts, window, gateTailsOf(run.readManifest().config.arm));
  const { band, ideal, missing } = controlsOf(run, rollouts, seed);
  const [monitor, watched] = [judgeMonitor(rollouts), monitorWindows(rollouts, window)];
  const [attribution, attributions] = [attributeGradient(rollouts), attributionWindows(rollouts, window)];
  const unchanged = unchangedOf(run, rollouts);
  const directions = reportDirections(readDirections(run), (await readCourse(run)).steps, ideal);
  const found = {
    run: path,
    all,
    reinforced,
    band,
    ideal: ideal === null ? null : { fittedOn: 'labels, diagnosis only', ...ideal, direction: undefined },
    directions,
    windows,
    monitor,
    monitorWindows: watched,
    attribution,
    attributionWindows: attributions,
    unchangedRoutes: unchanged,
  };
  printAnswer(context, json, found, (width) => {
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
    const dealt =
      unchanged === null ? [] : [`Routes that dealing out at random left as they were: ${formatRate(unchanged)}.`];
    const notes = [...(gated || monitor !== null ? missing : [nothing]), ...dealt];
    return renderTables(`${path}: ${arm}, seed ${config.seed}`, notes, tables, width);
  });
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
