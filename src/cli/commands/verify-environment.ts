/** `gq verify rewards | markers | partition | science`: checks the environment, the splits and the provenance of pairs and runs. */
import { visibleLine, wrapText } from '../../base/index.ts';
import { loadPairs } from '../../env/pairs/index.ts';
import { findDamage } from '../../evaluate/index.ts';
import { openLab, openProblems, pairSetOf, parseRunConfig, resolveConfig, type Warn } from '../../lab/index.ts';
import { renderTable } from '../../report/index.ts';
import type { RunConfig } from '../../run/index.ts';
import { partitionOf, RunDirectory } from '../../run/index.ts';
import {
  type Check,
  stated,
  verifyGeneratedPairs,
  verifyMarkers,
  verifyPairProvenance,
  verifyPartition,
  verifyRewards,
  verifyRunProvenance,
} from '../../verify/index.ts';
import { type CommandContext, command, flag, word } from '../command.ts';
import { configOption } from '../options.ts';
import { screenWidth } from '../terminal/screen.ts';
import { checksJson, renderChecks } from '../terminal/tables.ts';

/** The checks, and notes that are shown before them. */
export interface VerifyReport {
  readonly checks: readonly Check[];
  readonly notes: string;
}

/** `width`: that of the window, which the matrix is broken to. */
export async function reportRewards(config: RunConfig, width: number): Promise<VerifyReport> {
  await using lab = await openLab({ config });
  const { checks, loopholes, matrix } = await verifyRewards(await lab.judge, lab.parts.loopholes);
  const table = {
    title: 'reward of each program in each loophole; *: a hack',
    columns: ['program', ...loopholes],
    rows: matrix.map(({ program, cells }) => [program, ...cells]),
  };
  return { checks, notes: `${renderTable(table, 'text', width)}\n` };
}

export async function reportMarkers(config: RunConfig): Promise<VerifyReport> {
  await using lab = await openLab({ config });
  return { checks: await verifyMarkers(await lab.judge, lab.parts.loopholes), notes: '' };
}

const noteIn =
  (notes: string[]): Warn =>
  ({ message }) => {
    notes.push(`${visibleLine(message)}\n`);
  };

export async function reportPartition(config: RunConfig): Promise<VerifyReport> {
  const leftOut: string[] = [];
  await using lab = await openLab({ config }, { warn: noteIn(leftOut) });
  const { splits } = await openProblems(lab, { anew: true });
  const { loopholes } = lab.parts;
  const partition = await partitionOf(config, splits, loopholes);
  const counts = [...partition.known, ...partition.heldOut].map((loophole) => {
    const own = Object.entries(splits).map(([split, problems]) => {
      const count = problems.filter(({ id }) => partition.problems[id] === loophole).length;
      return `${split} ${count}`;
    });
    return `${loophole}: ${own.join(', ')}${partition.heldOut.includes(loophole) ? ' (held out)' : ''}\n`;
  });
  return { checks: verifyPartition(partition, splits, loopholes), notes: [...leftOut, ...counts].join('') };
}

export async function reportScience(config: RunConfig, run: RunDirectory | null = null): Promise<VerifyReport> {
  const leftOut: string[] = [];
  await using lab = await openLab({ config }, { work: 'evaluation', folder: run, warn: noteIn(leftOut) });
  const { loopholes } = lab.parts;
  const [{ splits }, opened] = await Promise.all([lab.problems, lab.pairs]);
  const { pairs } = await loadPairs(await pairSetOf(config), config.pairs.select);
  const checks = verifyPairProvenance(config, pairs, splits, loopholes);
  if (run !== null) {
    checks.push(...verifyGeneratedPairs(run, splits, await lab.partition, loopholes));
    checks.push(...(await verifyRunProvenance(run, await lab.identity, opened)));
  }
  return { checks, notes: leftOut.join('') };
}

function showReport({ checks, notes }: VerifyReport, title: string, json: boolean, context: CommandContext): void {
  const width = screenWidth(context.stdout);
  context.stdout.write(
    json ? checksJson({ checks }) : `${wrapText(notes, width)}${renderChecks(checks, title, width)}`,
  );
  if (checks.some(({ pass }) => !pass)) context.exitCode = 1;
}

type ReportOf = (config: RunConfig, width: number) => Promise<VerifyReport>;

const exits = { 1: 'a check fails' };

const environmentCommand = (name: string, title: string, report: ReportOf) =>
  command({
    arguments: { recipe: word('[recipe]', 'recipe whose environment to check; without one, the defaults') },
    options: { set: configOption, json: flag('print {checks}') },
    examples: [`gq verify ${name}`, `gq verify ${name} recipes/micro-base.toml --json`],
    exits,
    async run({ recipe = null, set, json }, context) {
      const { config } = await resolveConfig(recipe, set);
      showReport(await report(config, screenWidth(context.stdout)), title, json, context);
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
