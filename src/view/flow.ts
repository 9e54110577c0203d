/** Where rollouts went. One flows into both blocks by how hard it pulled on each, so what arrives is what set out. */
import type { GateRow } from './api.ts';
import { verdictWordOf, verdictWords } from './query.ts';

export const flowRoutes = ['keep', 'absorb', 'route'] as const;
export const flowBlocks = ['deployed block', 'quarantine', 'not recorded'] as const;
/** What a rollout counts: one, its |advantage|, or the norms of its gradient. */
export const flowMeasures = ['count', 'weight', 'mass'] as const;
export type FlowMeasure = (typeof flowMeasures)[number];

export type FlowPart = ReturnType<typeof flowOf>[number];

export function flowOf(rows: readonly GateRow[], measure: FlowMeasure) {
  return verdictWords.flatMap((verdict) =>
    flowRoutes.flatMap((route) => {
      const own = rows.filter((row) => row.route === route && verdictWordOf(row) === verdict);
      return flowBlocks.map((block) => {
        const values = own.map((row) => worthOf(row, measure) * shareOf(row, block));
        const count = values.filter((value) => value > 0).length;
        const value = values.reduce((sum, one) => sum + one, 0);
        // `count`: those of the rollouts that the block learned from.
        return { verdict, route, block, rollouts: own.length, count, value };
      });
    }),
  );
}

const massOf = ({ deployedNorm, quarantineNorm }: GateRow): number => (deployedNorm ?? 0) + (quarantineNorm ?? 0);

function worthOf(row: GateRow, measure: FlowMeasure): number {
  if (measure === 'count') return 1;
  return measure === 'weight' ? Math.abs(row.advantage) : massOf(row);
}

function shareOf(row: GateRow, block: (typeof flowBlocks)[number]): number {
  const mass = massOf(row);
  if (mass === 0) return block === 'not recorded' ? 1 : 0;
  if (block === 'not recorded') return 0;
  return ((block === 'quarantine' ? row.quarantineNorm : row.deployedNorm) ?? 0) / mass;
}
