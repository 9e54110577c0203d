/**
 * Inverse-transform draws from a discrete distribution: the first index whose cumulative weight exceeds uniform · total.
 * An index of weight 0 is never drawn, whatever the rounding of the sums.
 */
import { UserError } from './errors.ts';

type Numbers = ArrayLike<number>;

function requireUniform(call: string, uniform: number): void {
  if (uniform >= 0 && uniform < 1) return;
  throw new UserError({ call, expected: 'a uniform number in [0, 1)', found: `${uniform}` });
}

/** Running sums of the weights, for many draws from one distribution. */
export function cumulate(weights: Numbers): Float64Array {
  const cumulative = new Float64Array(weights.length);
  let total = 0;
  for (let index = 0; index < weights.length; index += 1) {
    const weight = weights[index];
    if (!(weight >= 0 && weight < Infinity)) {
      throw new UserError({
        call: 'categorical',
        expected: 'weights that are finite and ≥ 0',
        found: `${weight} at index ${index}`,
      });
    }
    total += weight;
    cumulative[index] = total;
  }
  if (!(total > 0 && total < Infinity)) {
    throw new UserError({
      call: 'categorical',
      expected: 'weights with a finite sum above 0',
      found: `a sum of ${total} over ${weights.length} weights`,
    });
  }
  return cumulative;
}

/** One draw by binary search in what `cumulate` returned. */
export function drawFromCumulative(cumulative: Numbers, uniform: number): number {
  requireUniform('drawFromCumulative', uniform);
  const total = cumulative[cumulative.length - 1];
  // Rounding may lift uniform · total to the total itself; then the answer is the last index that has weight.
  const product = uniform * total;
  const reached = (value: number): boolean => (product < total ? value > product : value >= total);
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (reached(cumulative[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** One draw from unnormalised weights. */
export function categorical(weights: Numbers, uniform: number): number {
  return drawFromCumulative(cumulate(weights), uniform);
}
