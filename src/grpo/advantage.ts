/**
 * A = reward − group mean. Dr.GRPO stops there; classic GRPO divides by the group's standard deviation, or by a floor where that is
 * larger, so that a group with little spread does not shout. A group whose rewards are all equal teaches nothing and is skipped. In a screened group, rollouts that are left out do not count in the statistics, rollouts
 * that are left out or silenced have advantage 0, and a group with fewer than two rollouts left is skipped.
 */
import type { Screening } from './arm.ts';

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
  for (let start = 0; start < rewards.length; start += group) {
    const screened = screening?.slice(start, start + group) ?? null;
    const all = rewards.subarray(start, start + group);
    const own = screened === null ? all : all.filter((_, i) => screened[i] !== 'leave-out');
    skipped.push(own.length < 2 || own.every((reward) => reward === own[0]));
    const mean = own.reduce((sum, reward) => sum + reward, 0) / own.length;
    const variance = own.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / own.length;
    const scale = kind === 'classic' ? Math.max(Math.sqrt(variance), deviationFloor) + 1e-4 : 1;
    values.set(
      all.map((reward, i) => (screened === null || screened[i] === 'train' ? (reward - mean) / scale : 0)),
      start,
    );
  }
  return { values, skipped };
}
