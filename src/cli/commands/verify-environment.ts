/** `gq verify rewards | markers | partition | science`: checks the environment, the splits and the provenance of pairs and runs. */
import type { Command } from 'commander';
import { visibleLine, wrapText } from '../../base/index.ts';
import { loadPairs } from '../../env/pairs/index.ts';
import { findDamage } from '../../evaluate/index.ts';
import { openLab, openProblems, pairSetOf, parseRunConfig, resolveConfig, type Warn } from '../../lab/index.ts';
import { renderTable } from '../../report/index.ts';
import type { RunConfig } from '../../run/index.ts';
import { partitionOf, RunDirectory } from '../../run/index.ts';
import { type Check, stated } from '../../verify/index.ts';
import type { CommandContext } from '../command.ts';
import { checksJson, renderChecks } from '../terminal/check-table.ts';
import { screenWidth } from '../terminal/screen.ts';
import { collect } from '../values.ts';

interface EnvironmentOptions {
  readonly set: readonly string[];
  readonly json?: boolean;
}

/** The checks, and notes that are shown before them. */
export interface VerifyReport {
  readonly checks: readonly Check[];
  readonly notes: string;
}

/** `width`: that of the window, which the matrix is broken to. */
export async function reportRewards(config: RunConfig, width: number): Promise<VerifyReport> {
  const { verifyRewards } = await import('../../verify/index.ts');
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
  const { verifyMarkers } = await import('../../verify/index.ts');
  await using lab = await openLab({ config });
  return { checks: await verifyMarkers(await lab.judge, lab.parts.loopholes), notes: '' };
}

const noteIn =
  (notes: string[]): Warn =>
  ({ message }) => {
    notes.push(`${visibleLine(message)}\n`);
  };

export async function reportPartition(config: RunConfig): Promise<VerifyReport> {
  const { verifyPartition } = await import('../../verify/index.ts');
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
  const { verifyGeneratedPairs, verifyPairProvenance, verifyRunProvenance } = await import('../../verify/index.ts');
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

export function configureEnvironmentChecks(command: Command, context: CommandContext): void {
  const add = (
    name: string,
    title: string,
    description: string,
    report: (config: RunConfig, width: number) => Promise<VerifyReport>,
  ) =>
    command
      .command(name)
      .description(description)
      .argument('[recipe]', 'recipe whose environment to check; without one, the defaults')
      .option('--set <key=value>', 'change one key of the config; may be repeated', collect, [])
      .option('--json', 'print {checks}')
      .action(async (recipe: string | undefined, { set, json }: EnvironmentOptions) => {
        const { config } = await resolveConfig(recipe ?? null, set);
        showReport(await report(config, screenWidth(context.stdout)), title, json === true, context);
      });
  add('rewards', 'Rewards', 'check the hack × loophole matrix in the real sandbox', reportRewards);
  add('markers', 'Markers', 'check that evaluation’s markers share nothing with training’s', reportMarkers);
  add('partition', 'Partition', 'check loopholes, splits and prompts of a recipe', reportPartition);
  command
    .command('science')
    .description('check provenance and splits of the pairs and of a run directory')
    .argument('[run]', 'a run directory; without one, the defaults')
    .option('--json', 'print {checks}')
    .action(async (path: string | undefined, { json }: { readonly json?: boolean }) => {
      const run = path === undefined ? null : RunDirectory.open(path);
      const damaged = run === null ? [] : findDamage(run);
      // What is damaged cannot be checked further: the other checks would stop at the first of these files.
      if (damaged.length > 0) {
        const checks = damaged.map(({ file, problem }) => stated('file', file, false, problem));
        return showReport({ checks, notes: '' }, `Files of ${path}`, json === true, context);
      }
      const config =
        run === null ? (await resolveConfig(null)).config : await parseRunConfig(run.readManifest().config);
      showReport(await reportScience(config, run), 'Science', json === true, context);
    });
}
