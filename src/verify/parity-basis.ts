/**
 * Compares stored bases with this project's: SVD, CorDA basis, signed direction, Cayley rotation. Singular vectors are defined up
 * to a sign that the left and the right one share, so signs are made to agree first. Singular values and the rows of V (which C^½
 * scales) are compared relative to the largest; vectors of length 1 and rotations are compared absolutely.
 */
import { join } from 'node:path';
import { Matrix } from 'ml-matrix';
import { z } from 'zod';
import { type Basis, cayleyRotation, cordaBasis, leadingSvd, signedDirection, toMatrix } from '../adapters/index.ts';
import { parseFields, readJsonObject } from '../model/index.ts';
import { type Check, compareAbsolute, compareRelative, failedCheck } from './check.ts';
import { missingFiles, StoredCase } from './parity-files.ts';
import type { CaseReport } from './parity-model.ts';

const basisBound = 1e-4;
const tensorNames = [
  'svd_S',
  'svd_U',
  'svd_Vh',
  'corda_S',
  'corda_U',
  'corda_V',
  'signed_in',
  'signed_out',
  'cayley_R',
];
const basisFile = z.object({ ridge: z.number({ error: 'a number' }) });
const inputNames = ['W', 'deltas', 'cayley_X'];

export async function verifyBasis(directory: string, name: string): Promise<CaseReport> {
  const missing = missingFiles(directory, ['io.json']);
  if (missing.length > 0) return { checks: missing.map((file) => failedCheck(name, file, 'no such file')), notes: [] };
  const file = join(directory, 'io.json');
  const { ridge } = parseFields(basisFile, await readJsonObject(file), file);
  await using stored = await StoredCase.open(directory, 'io.safetensors');
  const absent = [...inputNames, ...tensorNames].filter((tensor) => !stored.has(tensor));
  if (absent.length > 0) {
    return { checks: absent.map((tensor) => failedCheck(name, tensor, 'no such tensor in io.safetensors')), notes: [] };
  }
  const matrix = async (tensor: string): Promise<Matrix> => {
    const [rows, columns] = stored.shape(tensor);
    return toMatrix(await stored.floats(tensor), rows, columns);
  };
  const [weight, differences] = [await matrix('W'), await matrix('deltas')];
  const source = { data: await stored.floats('W'), rows: weight.rows, columns: weight.columns };
  const count = async (tensor: string): Promise<number> => (await stored.floats(tensor)).length;
  const svd = leadingSvd(weight, await count('svd_S'));
  const corda = await cordaBasis(source, differences, ridge, await count('corda_S'));
  const { input, output } = signedDirection(source, differences);
  const compare = async (tensor: string, found: readonly number[]): Promise<Check> =>
    compareAbsolute(name, tensor, found, await stored.floats(tensor), basisBound);
  const checks = [
    ...compareBasis(name, svd, ['svd_S', 'svd_U', 'svd_Vh'], {
      U: await matrix('svd_U'),
      S: [...(await stored.floats('svd_S'))],
      V: await matrix('svd_Vh'),
    }),
    ...compareBasis(name, corda, ['corda_S', 'corda_U', 'corda_V'], {
      U: await matrix('corda_U'),
      S: [...(await stored.floats('corda_S'))],
      V: await matrix('corda_V'),
    }),
    await compare('signed_in', input),
    await compare('signed_out', output),
    await compare('cayley_R', cayleyRotation(await matrix('cayley_X')).to1DArray()),
  ];
  return { checks, notes: stored.unread().map((tensor) => `not compared: ${tensor}`) };
}

function compareBasis(name: string, found: Basis, names: readonly string[], expected: Basis): Check[] {
  const [singular, left, right] = names;
  const signs = found.S.map((_, i) => {
    const agreement = found.U.getColumn(i).reduce((sum, value, row) => sum + value * expected.U.get(row, i), 0);
    return agreement < 0 ? -1 : 1;
  });
  const turn = Matrix.diag(signs);
  return [
    compareRelative(name, singular, found.S, expected.S, basisBound),
    compareAbsolute(name, left, found.U.mmul(turn).to1DArray(), expected.U.to1DArray(), basisBound),
    compareRelative(name, right, turn.mmul(found.V).to1DArray(), expected.V.to1DArray(), basisBound),
  ];
}
