/**
 * A = reward − group mean. Dr.GRPO stops there; classic GRPO divides by the group's standard deviation, or by a floor where that is
 * larger, so that a group with little spread does not shout. A group whose rewards are all equal teaches nothing and is skipped. In a screened group, rollouts that are left out do not count in the statistics, rollouts
 * that are left out or silenced have advantage 0, and a group with fewer than two rollouts left is skipped. Rollouts that are set apart
 * are compared with the whole group, and the others among themselves: the own mean of docs/science.md, section 6.
 */
import { z } from 'zod';
import type { Screening } from './arm.ts';

/** The key of every arm that routes flagged rollouts. */
export const meanKey: z.ZodDefault<z.ZodEnum<{ group: 'group'; own: 'own' }>> = z
  .enum(['group', 'own'])
  .default('group')
  .describe(
    'what rewards are compared with; group: the mean of the group; own: flagged rollouts with the mean of the group, the others with the mean of the others, so that no clean rollout is blamed for not being a flagged one',
  );

export interface Advantages {
  readonly values: Float32Array;
  /** One entry per group. */
  readonly skipped: readonly boolean[];
}

export function groupAdvantages(
  rewards: Float32Array,
  group: number,
  kind: 'dr' | 'classic',
  screening: readonly Screening[] | null = null,
  deviationFloor = 0,
): Advantages {
  const values = new Float32Array(rewards.length);
  const skipped: boolean[] = [];
  const standing = (among: Float32Array) => {
    const mean = among.reduce((sum, reward) => sum + reward, 0) / among.length;
    const variance = among.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / among.length;
    const scale = kind === 'classic' ? Math.max(Math.sqrt(variance), deviationFloor) + 1e-4 : 1;
    return (reward: number): number => (reward - mean) / scale;
  };
  for (let start = 0; start < rewards.length; start += group) {
    const all = rewards.subarray(start, start + group);
    const word = (i: number): Screening => screening?.[start + i] ?? 'train';
    const counted = all.filter((_, i) => word(i) !== 'leave-out');
    skipped.push(counted.length < 2 || !differ(counted));
    const inGroup = standing(counted);
    // One rollout alone is its own mean, and has the advantage 0.
    const amongOthers = standing(all.filter((_, i) => word(i) === 'train' || word(i) === 'silence'));
    const advantage = { train: amongOthers, apart: inGroup, silence: () => 0, 'leave-out': () => 0 };
    values.set(
      all.map((reward, i) => advantage[word(i)](reward)),
      start,
    );
  }
  return { values, skipped };
}

/** For each rollout whether the rewards of its group differ; where they do not, the group teaches nothing, whatever is set apart. */
export function inGroupsWithSpread(rewards: Float32Array, groups: readonly number[]): boolean[] {
  const spread = new Map(
    [...new Set(groups)].map((group) => [group, differ(rewards.filter((_, i) => groups[i] === group))]),
  );
  return groups.map((group) => spread.get(group) === true);
}

const differ = (rewards: Float32Array): boolean => rewards.some((reward) => reward !== rewards[0]);

export function setApart(flagged: readonly boolean[]): Screening[] {
  return flagged.map((flag) => (flag ? 'apart' : 'train'));
}
