/** `gq verify`: parity with stored numbers, adapters, arms, the environment, the provenance of pairs and runs. A line for each check. */
import { wrapText } from '../../base/index.ts';
import { scratchFolder } from '../../base/node/index.ts';
import { findDamage } from '../../evaluate/index.ts';
import { openDevice, parseRunConfig, resolveConfig } from '../../lab/index.ts';
import { renderTable } from '../../report/index.ts';
import { type RunConfig, RunDirectory } from '../../run/index.ts';
import {
  type Check,
  type LabelFlip,
  reportMarkers,
  reportPartition,
  reportRewards,
  reportScience,
  stated,
  type VerifyReport,
  verifyAdapters,
  verifyLabelFlip,
  verifyParity,
} from '../../verify/index.ts';
import { argument, type CommandContext, command, flag, whole, word } from '../command.ts';
import { configOption, deviceOption } from '../options.ts';
import { Progress } from '../terminal/progress.ts';
import { screenWidth } from '../terminal/screen.ts';
import { checksJson, renderChecks } from '../terminal/tables.ts';

const exits = { 1: 'a check fails' };

interface Shown {
  readonly checks: readonly Check[];
}

/** Prints a report as JSON, or its checks with what stands before and after them. */
function show<R extends Shown>(
  report: R,
  title: string,
  json: boolean,
  context: CommandContext,
  beside: (width: number) => { readonly before?: string; readonly after?: string } = () => ({}),
): void {
  const width = screenWidth(context.stdout);
  const { before = '', after = '' } = beside(width);
  const checks = (): string => renderChecks(report.checks, title, width);
  context.stdout.write(json ? checksJson(report) : `${before}${checks()}${after}`);
  if (report.checks.some(({ pass }) => !pass)) context.exitCode = 1;
}

const deviceOptions = {
  device: deviceOption,
  json: flag('print {checks: [{case, quantity, maxAbs, maxRel, bound, pass}]}'),
};

export const parityCommand = command({
  arguments: { dir: argument('<dir>', 'a folder laid out like test/golden') },
  options: deviceOptions,
  examples: ['gq verify parity test/golden', 'gq verify parity DIR --device reference --json'],
  exits,
  async run({ dir, device: name, json }, context) {
    using device = await openDevice(name, { precision: 'f32' });
    const report = await verifyParity(device, dir);
    show(report, `Parity on ${report.device}`, json, context, (width) => ({
      after: report.notes.map((one) => `${wrapText(`note: ${one.case}: ${one.note}`, width)}\n`).join(''),
    }));
  },
});

export const adaptersCommand = command({
  options: deviceOptions,
  examples: ['gq verify adapters'],
  exits,
  async run({ device: name, json }, context) {
    using device = await openDevice(name, { precision: 'f32' });
    const report = await verifyAdapters(device);
    show(report, `Adapter invariants on ${report.device}`, json, context);
  },
});

export const armCommand = command({
  arguments: { recipe: word('[recipe]', 'a TOML recipe, with plugins or without; without one, the defaults') },
  options: {
    set: configOption,
    updates: whole('<n>', 'updates of each of the two runs', { usual: 5 }),
    json: flag('print {checks, usesLabels, sources, trained, pinned}'),
  },
  examples: ['gq verify arm micro-activation', 'gq verify arm my-gate.toml --updates 2 --json'],
  exits: { 1: 'labels reach training' },
  async run({ recipe = null, set, updates, json }, context) {
    const { config } = await resolveConfig(recipe, set);
    using folder = scratchFolder('gq-arm-');
    const bar = new Progress(context.stderr, 'update', 2 * updates);
    const flip = await verifyLabelFlip(config, { updates, folder: folder.path, onUpdate: (done) => bar.show(done) });
    show(flip, 'Labels flipped', json, context, (width) => ({ after: `${wrapText(flipNotes(flip), width)}\n` }));
  },
});

function flipNotes({ usesLabels, sources, trained, pinned }: LabelFlip): string {
  const notes = [`${pinned} of ${trained} rollouts were kept or routed; the others trained both blocks.`];
  if (usesLabels) {
    notes.push(
      `Labels reach training: ${sources.join('; ')}. It must fail this check, and the manifests of its runs say so.`,
    );
  } else if (pinned === 0) {
    notes.push('Nothing was kept or routed: a gate may need more updates to show what it reads.');
  }
  return notes.join('\n');
}

/** What stands before the checks of a report. */
export function notesText({ notes, table }: VerifyReport, width: number): string {
  return table === undefined ? wrapText(notes, width) : `${renderTable(table, 'text', width)}\n`;
}

function showReport(report: VerifyReport, title: string, json: boolean, context: CommandContext): void {
  show({ checks: report.checks }, title, json, context, (width) => ({ before: notesText(report, width) }));
}

const environmentCommand = (name: string, title: string, reportOf: (config: RunConfig) => Promise<VerifyReport>) =>
  command({
    arguments: { recipe: word('[recipe]', 'recipe whose environment to check; without one, the defaults') },
    options: { set: configOption, json: flag('print {checks}') },
    examples: [`gq verify ${name}`, `gq verify ${name} micro-base --json`],
    exits,
    async run({ recipe = null, set, json }, context) {
      const { config } = await resolveConfig(recipe, set);
      showReport(await reportOf(config), title, json, context);
    },
  });

export const rewardsCommand = environmentCommand('rewards', 'Rewards', reportRewards);
export const markersCommand = environmentCommand('markers', 'Markers', reportMarkers);
export const partitionCommand = environmentCommand('partition', 'Partition', reportPartition);

export const scienceCommand = command({
  arguments: { run: word('[run]', 'a run directory; without one, the defaults') },
  options: { json: flag('print {checks}') },
  examples: ['gq verify science', 'gq verify science runs/activation-1'],
  exits,
  async run({ run: path, json }, context) {
    const run = path === undefined ? null : RunDirectory.open(path);
    const damaged = run === null ? [] : findDamage(run);
    // What is damaged cannot be checked further: the other checks would stop at the first of these files.
    if (damaged.length > 0) {
      const checks = damaged.map(({ file, problem }) => stated('file', file, false, problem));
      return showReport({ checks, notes: '' }, `Files of ${path}`, json, context);
    }
    const config = run === null ? (await resolveConfig(null)).config : await parseRunConfig(run.readManifest().config);
    showReport(await reportScience(config, run), 'Science', json, context);
  },
});
