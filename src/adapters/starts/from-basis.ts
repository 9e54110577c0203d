/** What the starts that come from a basis share: the rank that fits, the pairs they need, and ranks dealt to the two blocks. */
import type { Matrix } from 'ml-matrix';
import { UserError } from '../../base/index.ts';
import { type Basis, cordaBasis, type LeadingSvd, toMatrix, type WeightMatrix } from '../basis.ts';
import type { InitialFactors, StartInput } from './start.ts';

/** Ridge of the covariance, relative to the mean variance of the paired differences. */
const covarianceRidge = 1e-3;

/** W with its shape; an error where two blocks of the rank do not fit into it. */
export function weightMatrix(start: string, { module, weight, outputs, inputs, rank }: StartInput): WeightMatrix {
  const most = Math.floor(Math.min(outputs, inputs) / 2);
  if (rank <= most) return { data: weight, rows: outputs, columns: inputs };
  throw new UserError({
    call: `${start} adapter of ${module}`,
    expected: `a rank of at most ${most} (two blocks in [${outputs}, ${inputs}])`,
    found: `${rank}`,
    fix: 'Lower the rank, or use the lora family.',
  });
}

/** Δ [pairs, inputs]; an error where there are no pairs or their sides do not differ. */
function differenceMatrix(start: string, { module, inputs, differences }: StartInput): Matrix {
  if (differences === null || differences.length === 0 || differences.every((value) => value === 0)) {
    const none = differences === null || differences.length === 0;
    throw new UserError({
      call: `${start} adapter of ${module}`,
      expected: 'paired input differences',
      found: none ? 'none' : 'zeros: the two sides of every pair are the same',
      fix: 'Give the contrastive pairs, or use the lora or pissa family.',
    });
  }
  return toMatrix(differences, differences.length / inputs, inputs);
}

/** The CorDA basis of a module, and the two matrices it comes from. */
export async function contrastiveBasis(
  start: string,
  input: StartInput,
  svd: LeadingSvd,
): Promise<{ weight: WeightMatrix; differences: Matrix; basis: Basis }> {
  const weight = weightMatrix(start, input);
  const differences = differenceMatrix(start, input);
  return { weight, differences, basis: await cordaBasis(weight, differences, covarianceRidge, 2 * input.rank, svd) };
}

/** S^share goes to A0, the rest to B0; even ranks go to the deployed block, odd ones to the quarantine. */
export function interleave({ U, S, V }: Basis, rank: number, share: number): InitialFactors {
  const [outputs, inputs] = [U.rows, V.columns];
  const A0 = new Float32Array(2 * rank * inputs);
  const B0 = new Float32Array(outputs * 2 * rank);
  for (let i = 0; i < 2 * rank; i++) {
    const row = (i % 2 === 0 ? 0 : rank) + Math.floor(i / 2);
    const [inSize, outSize] = [S[i] ** share, S[i] ** (1 - share)];
    for (let c = 0; c < inputs; c++) A0[row * inputs + c] = inSize * V.get(i, c);
    for (let o = 0; o < outputs; o++) B0[o * 2 * rank + row] = outSize * U.get(o, i);
  }
  return { A0, B0 };
}
