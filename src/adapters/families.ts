/**
 * Initial values A0 [2R, C] and B0 [O, 2R] of one module, by family. Rows [0, R) of A0 (columns of B0) are the deployed
 * block, the rest the quarantine block.
 *   lora: A0 ~ N(0, 1/C), B0 ~ N(0, 1/2R), seeded per module.
 *   pissa: top-2R SVD of W, singular values shared evenly; even ranks deployed, odd ranks quarantine.
 *   corda: the same of W C^½, from pairs.
 *   scorda: the unit mean paired difference (and W of it) is the first quarantine direction; every other direction,
 *   from the CorDA basis, is made orthogonal to it. scorda-reversed puts the seed in the deployed block instead.
 *   antipasto: the CorDA basis itself, V and U diag(S), which it keeps frozen.
 * Basis-building families see pairs only, never rollouts or labels.
 */
import { Matrix } from 'ml-matrix';
import { randomStream, UserError } from '../base/index.ts';
import { type Basis, cordaBasis, type LeadingSvd, leadingSvd, signedDirection, toMatrix } from './basis.ts';

export const linearFamilies = ['lora', 'pissa', 'corda', 'scorda', 'scorda-reversed'] as const;
export type LinearFamily = (typeof linearFamilies)[number];
export type Family = LinearFamily | 'antipasto';
export const families: readonly Family[] = [...linearFamilies, 'antipasto'];

/** These start from paired input differences. */
export function needsPairs(family: Family): boolean {
  return family !== 'lora' && family !== 'pissa';
}

export const covarianceRidge = 1e-3;

export interface ModuleInput {
  readonly module: string;
  /** W, row major [outputs, inputs]. */
  readonly weight: Float32Array;
  readonly outputs: number;
  readonly inputs: number;
  readonly rank: number;
  readonly seed: number;
  /** Paired input differences (hack − clean), row major [pairs, inputs]; null for families that need none. */
  readonly differences: Float32Array | null;
}

export interface InitialFactors {
  readonly A0: Float32Array;
  readonly B0: Float32Array;
}

export async function initialFactors(
  family: Family,
  input: ModuleInput,
  svd: LeadingSvd = leadingSvd,
): Promise<InitialFactors> {
  if (family === 'lora') return gaussian(input);
  expectRank(family, input);
  const { rank } = input;
  const weight = toMatrix(input.weight, input.outputs, input.inputs);
  if (family === 'pissa') return interleave(await svd(weight, 2 * rank), rank, 0.5);
  const differences = pairDifferences(family, input);
  const basis = await cordaBasis(weight, differences, covarianceRidge, 2 * rank, svd);
  if (family === 'antipasto') return interleave(basis, rank, 0);
  if (family === 'corda') return interleave(basis, rank, 0.5);
  const seeded = withSeed(basis, signedDirection(weight, differences), family === 'scorda' ? 1 : 0);
  return interleave(seeded, rank, 0.5);
}

function gaussian({ module, outputs, inputs, rank, seed }: ModuleInput): InitialFactors {
  const A0 = new Float32Array(2 * rank * inputs);
  const B0 = new Float32Array(outputs * 2 * rank);
  randomStream(seed, ['adapter', module, 'A']).fillNormal(A0, 1 / Math.sqrt(inputs));
  randomStream(seed, ['adapter', module, 'B']).fillNormal(B0, 1 / Math.sqrt(2 * rank));
  return { A0, B0 };
}

function expectRank(family: Family, { module, outputs, inputs, rank }: ModuleInput): void {
  const most = Math.floor(Math.min(outputs, inputs) / 2);
  if (rank <= most) return;
  throw new UserError({
    call: `${family} adapter of ${module}`,
    expected: `a rank of at most ${most} (two blocks in [${outputs}, ${inputs}])`,
    found: `${rank}`,
    fix: 'Lower the rank, or use the lora family.',
  });
}

function pairDifferences(family: Family, { module, inputs, differences }: ModuleInput): Matrix {
  if (differences === null || differences.length === 0 || differences.every((value) => value === 0)) {
    throw new UserError({
      call: `${family} adapter of ${module}`,
      expected: 'paired input differences',
      found:
        differences === null || differences.length === 0 ? 'none' : 'zeros: the two sides of every pair are the same',
      fix: 'Give the contrastive pairs, or use the lora or pissa family.',
    });
  }
  return toMatrix(differences, differences.length / inputs, inputs);
}

/** S^share goes to A0, the rest to B0; even ranks go to the deployed block, odd ones to the quarantine. */
function interleave({ U, S, V }: Basis, rank: number, share: number): InitialFactors {
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

/** Puts the signed direction at rank `place` (1: first of the quarantine, 0: first of the deployed block). */
function withSeed({ U, S, V }: Basis, seed: { input: number[]; output: number[] }, place: 0 | 1): Basis {
  const inputs = orthogonalTo(V, seed.input);
  const outputs = orthogonalTo(U.transpose(), seed.output);
  const rest = [...S.keys()].slice(0, -1);
  const pick = (rows: Matrix, direction: number[]): Matrix => {
    const chosen = rest.map((i) => rows.getRow(i));
    chosen.splice(place, 0, direction);
    return new Matrix(chosen);
  };
  const sizes = rest.map((i) => S[i]);
  sizes.splice(place, 0, S[0]);
  return { U: pick(outputs, seed.output).transpose(), S: sizes, V: pick(inputs, seed.input) };
}

/** Every row less its part along the unit vector. */
function orthogonalTo(rows: Matrix, direction: readonly number[]): Matrix {
  const along = rows.mmul(Matrix.columnVector([...direction]));
  return Matrix.sub(rows, along.mmul(Matrix.rowVector([...direction])));
}
