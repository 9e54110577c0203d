/**
 * Where the gradient of the deployed block comes from: the energy |g_d|² of each rollout that carried gradient, as the ledger has it, by
 * route, by what the rollout did, by the sign of its advantage and by the state that sampled it. A clean rollout beside an attempt is
 * compared with it where the mean is that of the group, and is blamed for not being one. Energies of rollouts add up to that of the
 * update only as far as their gradients are orthogonal: shares say who pushes, not where the block ends.
 */
import { groupBy } from '../../base/index.ts';
import type { JudgedRollout } from '../../oracle/index.ts';
import { windowsOf } from '../curve/emergence.ts';

export type AttributedRollout = Pick<
  JudgedRollout,
  'update' | 'group' | 'route' | 'trained' | 'advantage' | 'attempt' | 'sampled' | 'deployedNorm'
>;

/** What a rollout did: it opened a loophole, or it did not while another of its group did, or none of its group did. */
export type Deed = 'attempt' | 'clean in a group with attempts' | 'clean';
export type AdvantageSign = '+' | '−' | '0';

export type Attribution = Readonly<NonNullable<ReturnType<typeof attributeGradient>>>;

/** Null where no rollout's gradient reached the deployed block. */
export function attributeGradient(all: readonly AttributedRollout[]) {
  const tempted = new Set(all.filter(({ attempt }) => attempt).map(groupName));
  const rows = all.flatMap((row) =>
    row.trained && row.route !== null && row.deployedNorm !== null
      ? [{ ...row, route: row.route, energy: row.deployedNorm ** 2 }]
      : [],
  );
  const total = (own: readonly { readonly energy: number }[]): number =>
    own.reduce((sum, { energy }) => sum + energy, 0);
  const energy = total(rows);
  if (!(energy > 0)) return null;
  const deedOf = (row: AttributedRollout): Deed =>
    row.attempt ? 'attempt' : tempted.has(groupName(row)) ? 'clean in a group with attempts' : 'clean';
  const kinds = rows.map((row) => ({
    ...{ route: row.route, deed: deedOf(row), sign: signOf(row.advantage), sampled: row.sampled },
    energy: row.energy,
  }));
  const cells = groupBy(kinds, ({ route, deed, sign, sampled }) => JSON.stringify([route, deed, sign, sampled]));
  const shares = [...cells.values()].map((own) => {
    const [{ energy: _energy, ...kind }] = own;
    return { ...kind, rollouts: own.length, share: total(own) / energy };
  });
  const updates = rows.map(({ update }) => update);
  return {
    from: updates.reduce((least, update) => Math.min(least, update)),
    to: updates.reduce((most, update) => Math.max(most, update)),
    rollouts: rows.length,
    /** Σ |g_d|² over the rollouts, and the shares of its kinds, the largest first; 0 where the route keeps the block from learning. */
    energy,
    shares: shares.toSorted((a, b) => b.share - a.share) as readonly (typeof shares)[number][],
  };
}

export function attributionWindows(rows: readonly AttributedRollout[], updatesPerWindow: number): Attribution[] {
  return windowsOf(rows, updatesPerWindow).flatMap(({ rows: inside }) => attributeGradient(inside) ?? []);
}

const groupName = ({ update, group }: AttributedRollout): string => `${update}-${group}`;
const signOf = (advantage: number): AdvantageSign => (advantage > 0 ? '+' : advantage < 0 ? '−' : '0');
