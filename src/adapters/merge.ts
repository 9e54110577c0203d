/** A weight with its change written into it: W + upᵀ · down, summed in float64. */
import type { LowRankChange } from './adapter.ts';

/** weight [outputs, inputs], row major; in place. */
export function addChange(weight: Float32Array, inputs: number, { rank, down, up }: LowRankChange): void {
  const outputs = weight.length / inputs;
  const row = new Float64Array(inputs);
  for (let o = 0; o < outputs; o++) {
    row.fill(0);
    for (let k = 0; k < rank; k++) {
      const factor = up[k * outputs + o];
      if (factor === 0) continue;
      for (let c = 0; c < inputs; c++) row[c] += factor * down[k * inputs + c];
    }
    for (let c = 0; c < inputs; c++) weight[o * inputs + c] += row[c];
  }
}
