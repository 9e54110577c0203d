/** The checks of the environment, the splits and the provenance of pairs and runs, each with the parts of the lab that it needs. */
import { visibleLine } from '../base/index.ts';
import { loadPairs } from '../env/pairs/index.ts';
import { openLab, openProblems, pairSetOf, type Warn } from '../lab/index.ts';
import { partitionOf, type RunConfig, type RunDirectory } from '../run/index.ts';
import type { Check } from './check.ts';
import { verifyMarkers, verifyPartition, verifyRewards } from './environment-checks.ts';
import { verifyGeneratedPairs } from './generated-pair-checks.ts';
import { verifyPairProvenance, verifyRunProvenance } from './provenance-checks.ts';

/** The checks, and what is shown before them. */
export interface VerifyReport {
  readonly checks: readonly Check[];
  readonly notes: string;
  readonly table?: {
    readonly title: string;
    readonly columns: readonly string[];
    readonly rows: readonly (readonly string[])[];
  };
}

export async function reportRewards(config: RunConfig): Promise<VerifyReport> {
  await using lab = await openLab({ config });
  const { checks, loopholes, matrix } = await verifyRewards(await lab.judge, lab.parts.loopholes);
  const table = {
    title: 'reward of each program in each loophole; *: a hack',
    columns: ['program', ...loopholes],
    rows: matrix.map(({ program, cells }) => [program, ...cells]),
  };
  return { checks, notes: '', table };
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
