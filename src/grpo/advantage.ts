/**
 * A = reward − group mean. Dr.GRPO stops there; classic GRPO divides by the group's standard deviation. A group whose rewards
 * are all equal teaches nothing and is skipped.
 */
export interface Advantages {
  readonly values: Float32Array;
  /** By group. */
  readonly skipped: readonly boolean[];
}

export function groupAdvantages(rewards: Float32Array, group: number, kind: 'dr' | 'classic'): Advantages {
  const values = new Float32Array(rewards.length);
  const skipped: boolean[] = [];
  for (let start = 0; start < rewards.length; start += group) {
    const own = rewards.subarray(start, start + group);
    skipped.push(own.every((reward) => reward === own[0]));
    const mean = own.reduce((sum, reward) => sum + reward, 0) / own.length;
    const variance = own.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / own.length;
    const scale = kind === 'classic' ? Math.sqrt(variance) + 1e-4 : 1;
    values.set(
      own.map((reward) => (reward - mean) / scale),
      start,
    );
  }
  return { values, skipped };
}
