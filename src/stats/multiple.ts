/**
 * Several tests at once: Holm's step-down adjustment (1979), which controls the chance of any false rejection without
 * assumptions on dependence. Sorted p-values p₍₁₎ ≤ … ≤ p₍ₘ₎ become max over j ≤ i of min(1, (m − j + 1) p₍ⱼ₎).
 */
import { type Numbers, requireProbability } from './inputs.ts';

/** Adjusted p-values in the order of the input: compare each with the family-wise level. */
export function holmAdjust(pValues: Numbers): number[] {
  const list = Array.from(pValues);
  for (const pValue of list) requireProbability('holmAdjust', pValue);
  const order = list.map((_, index) => index).sort((a, b) => list[a] - list[b]);
  const adjusted = new Array<number>(list.length);
  let largest = 0;
  for (const [position, index] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (list.length - position) * list[index]));
    adjusted[index] = largest;
  }
  return adjusted;
}
