/** Bases against their definitions: the root of a covariance by eigenvectors, rotations, directions. */
import fc from 'fast-check';
import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { describe, expect, test } from 'vitest';
import { randomStream } from '../base/rng.ts';
import {
  cayleyRotation,
  cordaBasis,
  covarianceRoot,
  leadingSvd,
  signedDirection,
  timesRoot,
  toMatrix,
  type WeightMatrix,
} from './basis.ts';

function random(name: string, rows: number, columns: number): Matrix {
  const data = new Float32Array(rows * columns);
  randomStream(3, name).fillNormal(data);
  return toMatrix(data, rows, columns);
}

const asWeight = (matrix: Matrix): WeightMatrix => ({
  data: Float32Array.from(matrix.to1DArray()),
  rows: matrix.rows,
  columns: matrix.columns,
});

function largest(matrix: Matrix): number {
  return Math.max(...matrix.to1DArray().map(Math.abs));
}

test('C^½ is the root of ΔᵀΔ/n + ridge, for fewer and for more pairs than inputs', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 7 }), fc.nat(99), (pairs, inputs, seed) => {
      const differences = random(`differences ${seed}`, pairs, inputs);
      const covariance = differences.transpose().mmul(differences).div(pairs);
      const variance = covariance.trace() / inputs;
      const expected = Matrix.add(covariance, Matrix.eye(inputs).mul(1e-3 * variance));
      const root = timesRoot(Matrix.eye(inputs), covarianceRoot(differences, 1e-3));
      expect(largest(Matrix.sub(root.mmul(root), expected))).toBeLessThan(1e-10);
      expect(largest(Matrix.sub(root, root.transpose()))).toBeLessThan(1e-10);
      const values = new EigenvalueDecomposition(root, { assumeSymmetric: true }).realEigenvalues;
      expect(Math.min(...values)).toBeGreaterThan(0);
    }),
    { numRuns: 40 },
  );
});

test('the CorDA basis gives W C back: U S V is W C^½ C^½', async () => {
  const [weight, differences] = [random('weight', 5, 4), random('differences', 3, 4)];
  const { U, S, V } = await cordaBasis(asWeight(weight), differences, 1e-3, 4);
  const root = covarianceRoot(differences, 1e-3);
  const rebuilt = U.mmul(Matrix.diag([...S])).mmul(V);
  expect(largest(Matrix.sub(rebuilt, timesRoot(timesRoot(weight, root), root)))).toBeLessThan(1e-10);
});

describe('leadingSvd', () => {
  test.each([
    [6, 4],
    [4, 6],
  ])('of [%d, %d]: orthonormal, falling, and whole when all are taken', (rows, columns) => {
    const matrix = random('matrix', rows, columns);
    const { U, S, V } = leadingSvd(matrix, 4);
    expect(largest(Matrix.sub(U.mmul(Matrix.diag([...S])).mmul(V), matrix))).toBeLessThan(1e-12);
    expect(largest(Matrix.sub(U.transpose().mmul(U), Matrix.eye(4)))).toBeLessThan(1e-12);
    expect(largest(Matrix.sub(V.mmul(V.transpose()), Matrix.eye(4)))).toBeLessThan(1e-12);
    expect([...S].sort((a, b) => b - a)).toEqual(S);
  });
});

test('the signed direction is the unit mean difference and W of it, and keeps its sign', () => {
  const weight = random('weight', 5, 4);
  const differences = random('differences', 6, 4);
  const { input, output } = signedDirection(asWeight(weight), differences);
  const mean = differences.mean('column');
  expect(input.reduce((sum, value, i) => sum + value * mean[i], 0)).toBeCloseTo(Math.hypot(...mean), 10);
  const image = weight.mmul(Matrix.columnVector(input)).to1DArray();
  expect(output.reduce((sum, value, i) => sum + value * image[i], 0)).toBeCloseTo(Math.hypot(...image), 10);
  const turned = signedDirection(asWeight(weight), Matrix.mul(differences, -1));
  expect(turned.input).toEqual(input.map((value) => -value));
});

test('pairs that cancel have no direction', () => {
  const differences = new Matrix([
    [1, -2],
    [-1, 2],
  ]);
  expect(() => signedDirection(asWeight(random('weight', 3, 2)), differences)).toThrow(
    'a mean paired difference that is not zero',
  );
});

test('a Cayley rotation is one: orthogonal, and the identity at zero', () => {
  const R = cayleyRotation(random('X', 4, 4));
  expect(largest(Matrix.sub(R.mmul(R.transpose()), Matrix.eye(4)))).toBeLessThan(1e-12);
  expect(cayleyRotation(Matrix.zeros(3, 3)).to2DArray()).toEqual(Matrix.eye(3).to2DArray());
});
