/**
 * The policy-parity guard: the sampler and the scorer must be the same policy. Every update compares their log-probabilities
 * for the same tokens (the largest difference, or the mean one where rounding makes single tokens jump) and the adapter's hash
 * on both sides; beyond the tolerance the run stops with the numbers.
 */
import { DeviceError } from '../base/index.ts';
import type { Rollout } from './rollout.ts';
import type { GrpoSettings } from './settings.ts';

export function assertSameAdapter(hashSampled: string, hashScored: string): void {
  if (hashSampled === hashScored) return;
  throw new DeviceError({
    call: 'policy parity',
    expected: `the adapter that sampled (${hashSampled.slice(0, 12)})`,
    found: `another one when scoring (${hashScored.slice(0, 12)})`,
    fix: 'The policy changed between sampling and scoring.',
  });
}

/** Returns the largest difference seen. */
export function assertParity(
  rollouts: readonly Rollout[],
  logpOld: readonly Float32Array[],
  { parityTolerance: tolerance, parityOver: over }: GrpoSettings['safety'],
): number {
  let worst = 0;
  let sum = 0;
  let count = 0;
  let where = '';
  rollouts.forEach(({ id, sampled, sampledLogps }, i) => {
    sampledLogps?.forEach((logp, t) => {
      const apart = Math.abs(logp - logpOld[i][t]);
      const difference = Number.isNaN(apart) ? Number.POSITIVE_INFINITY : apart;
      sum += difference;
      count++;
      if (difference <= worst) return;
      worst = difference;
      where = `rollout ${id} (sampled ${sampled}), token ${t}: sampler ${logp}, scorer ${logpOld[i][t]}`;
    });
  });
  const judged = over === 'largest' ? worst : sum / Math.max(1, count);
  if (judged <= tolerance) return worst;
  throw new DeviceError({
    call: 'policy parity',
    expected: `log-probabilities whose ${over} difference is at most ${tolerance}`,
    found: `${judged}; the largest is ${worst} at ${where}`,
    fix: 'log π_old must be scored in the state that sampled the rollout, by the same adapter.',
  });
}
