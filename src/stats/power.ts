/**
 * The smallest true effect that a two-sided test of level alpha finds with the given power.
 * Two proportions, n each: |p₂ − p₁| √n = z₁₋α⸝₂ √(2 p̄ q̄) + z_power √(p₁q₁ + p₂q₂) (Fleiss; power.prop.test in R).
 * Paired mean difference: the shift δ √n / s of a noncentral t that exceeds t₁₋α⸝₂ with that power (power.t.test in R).
 */
import { UserError } from '../base/index.ts';
import { requireCount, requireLevel, requirePositive, requireProbability } from './inputs.ts';
import { normalQuantile } from './normal.ts';
import { bisect } from './special.ts';
import { noncentralStudentCdf, studentQuantile } from './student.ts';

export interface PowerOptions {
  readonly alpha?: number;
  readonly power?: number;
}

function levels(call: string, { alpha = 0.05, power = 0.8 }: PowerOptions): Required<PowerOptions> {
  requireLevel(`${call} alpha`, alpha);
  requireLevel(`${call} power`, power);
  if (power > alpha / 2) return { alpha, power };
  throw new UserError({ call, expected: `a power above alpha / 2 = ${alpha / 2}`, found: `${power}` });
}

/**
 * p₂ − p₁ for a baseline p₁ and n units in each group, upwards or downwards; null when even p₂ = 1 (or 0) would be
 * missed too often.
 */
export function detectableProportionDifference(
  baseline: number,
  n: number,
  direction: 'increase' | 'decrease',
  options: PowerOptions = {},
): number | null {
  const call = 'detectableProportionDifference';
  requireProbability(call, baseline);
  requireCount(`${call} n`, n, 1);
  const { alpha, power } = levels(call, options);
  const sign = direction === 'increase' ? 1 : -1;
  const room = direction === 'increase' ? 1 - baseline : baseline;
  const zAlpha = normalQuantile(1 - alpha / 2);
  const zPower = normalQuantile(power);
  const isMissed = (size: number): boolean => {
    const other = Math.min(1, Math.max(0, baseline + sign * size));
    const pooled = (baseline + other) / 2;
    const underNull = Math.sqrt(2 * pooled * (1 - pooled));
    const underEffect = Math.sqrt(baseline * (1 - baseline) + other * (1 - other));
    return size * Math.sqrt(n) < zAlpha * underNull + zPower * underEffect;
  };
  return room === 0 || isMissed(room) ? null : sign * bisect(0, room, isMissed);
}

/** The smallest detectable mean difference, in units of the standard deviation of the differences. */
export function detectablePairedDifference(
  standardDeviationOfDifferences: number,
  pairs: number,
  options: PowerOptions = {},
): number {
  const call = 'detectablePairedDifference';
  requirePositive(`${call} standard deviation`, standardDeviationOfDifferences);
  requireCount(`${call} pairs`, pairs, 2);
  const { alpha, power } = levels(call, options);
  return (detectableShift(pairs, alpha, power) * standardDeviationOfDifferences) / Math.sqrt(pairs);
}

/** Shifts that were computed: a table asks hundreds of times for the one of its number of seeds, and each takes milliseconds. */
const knownShifts = new Map<string, number>();

function detectableShift(pairs: number, alpha: number, power: number): number {
  const key = `${pairs} ${alpha} ${power}`;
  const known = knownShifts.get(key);
  if (known !== undefined) return known;
  const degreesOfFreedom = pairs - 1;
  const critical = studentQuantile(1 - alpha / 2, degreesOfFreedom);
  const isMissed = (shift: number): boolean => 1 - noncentralStudentCdf(critical, degreesOfFreedom, shift) < power;
  let high = 1;
  while (isMissed(high)) high *= 2;
  const shift = bisect(0, high, isMissed);
  knownShifts.set(key, shift);
  return shift;
}
