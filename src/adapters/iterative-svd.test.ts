/** The iteration against the full SVD, on the spectra it is for: falling, flat (a random matrix), and exactly low rank. */
import { Matrix } from 'ml-matrix';
import { describe, expect, test } from 'vitest';
import { randomStream } from '../base/rng.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { covarianceRoot, fullSvd, leadingSvd, type SvdSource, toMatrix } from './basis.ts';
import { iterativeSvd } from './iterative-svd.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 26 });

function gaussian(name: string, rows: number, columns: number): Matrix {
  const data = new Float32Array(rows * columns);
  randomStream(9, name).fillNormal(data, 1 / Math.sqrt(columns));
  return toMatrix(data, rows, columns);
}

function source(matrix: Matrix): SvdSource {
  return { data: Float32Array.from(matrix.to1DArray()), rows: matrix.rows, columns: matrix.columns };
}

/** A matrix of rank 40 at most, its singular values falling by a third every step. */
function falling(rows: number, columns: number, keep: number): Matrix {
  const [left, right] = [gaussian('left', rows, keep), gaussian('right', keep, columns)];
  const sizes = Matrix.diag(Array.from({ length: keep }, (_, i) => 0.67 ** i));
  return left.mmul(sizes).mmul(right);
}

const cases: [string, Matrix, number][] = [
  ['flat, tall', gaussian('tall', 150, 90), 6],
  ['flat, wide', gaussian('wide', 90, 150), 6],
  ['falling', falling(120, 100, 40), 8],
  ['of low rank', falling(80, 110, 5), 4],
];

describe.each(cases)('a matrix that is %s', (_name, matrix, count) => {
  test('has the leading triplets of the full SVD', async () => {
    const found = await iterativeSvd(device, source(matrix), count);
    const full = leadingSvd(matrix, count);
    found.S.forEach((value, i) => {
      expect(Math.abs(value - full.S[i])).toBeLessThan(1e-5 * full.S[0]);
    });
    // An adapter starts from the space, so what counts is the part of each exact direction outside it.
    for (const [mine, exact] of [
      [found.V, full.V],
      [found.U.transpose(), full.U.transpose()],
    ]) {
      const outside = Matrix.sub(exact, exact.mmul(mine.transpose()).mmul(mine));
      for (let i = 0; i < count - 1; i++) expect(Math.hypot(...outside.getRow(i))).toBeLessThan(5e-3);
    }
    const product = found.U.mmul(Matrix.diag([...found.S])).mmul(found.V);
    const best = full.U.mmul(Matrix.diag([...full.S])).mmul(full.V);
    const error = Matrix.sub(matrix, product).norm('frobenius');
    expect(error).toBeLessThan(Matrix.sub(matrix, best).norm('frobenius') + 1e-5 * full.S[0]);
    expect(device.arena.used).toBe(0);
  });
});

test('directions far below those of a few pairs are singular vectors too', async () => {
  const [weight, pairs] = [source(gaussian('weight', 150, 90)), gaussian('pairs', 5, 90)];
  const rooted = { ...weight, root: covarianceRoot(pairs, 1e-5) };
  const [found, full] = [await iterativeSvd(device, rooted, 9), fullSvd(rooted, 9)];
  expect(full.S[5] / full.S[0]).toBeLessThan(5e-3);
  found.S.forEach((value, i) => {
    expect(Math.abs(value / full.S[i] - 1)).toBeLessThan(1e-3);
  });
  const outside = Matrix.sub(full.V, full.V.mmul(found.V.transpose()).mmul(found.V));
  for (let i = 0; i < 8; i++) expect(Math.hypot(...outside.getRow(i))).toBeLessThan(0.05);
});

test('the same matrix gives the same bytes', async () => {
  const matrix = gaussian('again', 40, 30);
  const [first, second] = [
    await iterativeSvd(device, source(matrix), 3),
    await iterativeSvd(device, source(matrix), 3),
  ];
  expect(second.V.to1DArray()).toEqual(first.V.to1DArray());
  expect(second.U.to1DArray()).toEqual(first.U.to1DArray());
});

test('as many triplets as there are', async () => {
  const matrix = gaussian('small', 9, 6);
  const { S } = await iterativeSvd(device, source(matrix), 6);
  leadingSvd(matrix, 6).S.forEach((value, i) => {
    expect(S[i]).toBeCloseTo(value, 4);
  });
});
