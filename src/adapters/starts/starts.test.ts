/** What each built-in start gives, and what is refused of others. */
import { Matrix } from 'ml-matrix';
import { describe, expect, test } from 'vitest';
import { randomStream } from '../../base/rng.ts';
import { fullSvd, leadingSvd, signedDirection, toMatrix } from '../basis.ts';
import { builtinStarts, findStart } from './registry.ts';
import { type AdapterStart, computeFactors, defineStart, type InitialFactors, type StartInput } from './start.ts';

const [outputs, inputs, rank, pairs] = [12, 10, 3, 4];
const initialFactors = (family: string, given: StartInput): Promise<InitialFactors> =>
  computeFactors(findStart(family), given, fullSvd);

function normal(name: string, size: number): Float32Array {
  const data = new Float32Array(size);
  randomStream(2, name).fillNormal(data);
  return data;
}

const input: StartInput = {
  module: 'model.layers.0.mlp.up_proj',
  weight: normal('weight', outputs * inputs),
  outputs,
  inputs,
  rank,
  seed: 5,
  differences: normal('differences', pairs * inputs),
};
const weight = toMatrix(input.weight, outputs, inputs);
const differences = toMatrix(input.differences ?? new Float32Array(), pairs, inputs);

const down = ({ A0 }: InitialFactors): Matrix => toMatrix(A0, 2 * rank, inputs);
const up = ({ B0 }: InitialFactors): Matrix => toMatrix(B0, outputs, 2 * rank);
const cosine = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * b[i], 0) / (Math.hypot(...a) * Math.hypot(...b));

test('lora: A ~ N(0, 1/in), B ~ N(0, 1/2r), a stream per seed and module', async () => {
  const wide = { ...input, inputs: 400, outputs: 500, rank: 8, weight: new Float32Array(), differences: null };
  const { A0, B0 } = await initialFactors('lora', wide);
  const variance = (data: Float32Array): number => data.reduce((sum, value) => sum + value * value, 0) / data.length;
  expect(variance(A0) * 400).toBeCloseTo(1, 1);
  expect(variance(B0) * 16).toBeCloseTo(1, 1);
  expect((await initialFactors('lora', wide)).A0).toEqual(A0);
  expect((await initialFactors('lora', { ...wide, seed: 6 })).A0).not.toEqual(A0);
  expect((await initialFactors('lora', { ...wide, module: 'other' })).A0).not.toEqual(A0);
});

test('pissa: B0 A0 is the best approximation of W; even ranks deployed, odd ones quarantine, sizes shared', async () => {
  const factors = await initialFactors('pissa', input);
  const { U, S, V } = leadingSvd(weight, 2 * rank);
  const best = U.mmul(Matrix.diag([...S])).mmul(V);
  const product = up(factors).mmul(down(factors));
  expect(Matrix.sub(product, best).norm('frobenius')).toBeLessThan(1e-5);
  for (let i = 0; i < 2 * rank; i++) {
    const row = i % 2 === 0 ? i / 2 : rank + (i - 1) / 2;
    expect(Math.abs(cosine(down(factors).getRow(row), V.getRow(i)))).toBeCloseTo(1, 5);
    expect(Math.hypot(...down(factors).getRow(row))).toBeCloseTo(Math.sqrt(S[i]), 5);
    expect(Math.hypot(...up(factors).getColumn(row))).toBeCloseTo(Math.sqrt(S[i]), 5);
  }
});

describe.each([
  ['scorda', rank],
  ['scorda-reversed', 0],
] as const)('%s', (family, seedRow) => {
  test(`the signed direction is row ${seedRow}, and every other direction is orthogonal to it`, async () => {
    const factors = await initialFactors(family, input);
    const seed = signedDirection({ data: input.weight, rows: outputs, columns: inputs }, differences);
    for (let row = 0; row < 2 * rank; row++) {
      const expected = row === seedRow ? 1 : 0;
      expect(cosine(down(factors).getRow(row), seed.input)).toBeCloseTo(expected, 5);
      expect(cosine(up(factors).getColumn(row), seed.output)).toBeCloseTo(expected, 5);
    }
  });
});

test('antipasto: U has unit columns times S, so that all of a size is on one side', async () => {
  const antipasto = await initialFactors('antipasto', input);
  const corda = await initialFactors('corda', input);
  const product = Matrix.sub(up(antipasto).mmul(down(antipasto)), up(corda).mmul(down(corda)));
  expect(product.norm('frobenius')).toBeLessThan(1e-5);
  expect(Math.hypot(...up(antipasto).getColumn(0))).toBeGreaterThan(Math.hypot(...up(antipasto).getColumn(rank)));
});

test('a rank that does not fit, and missing or empty pairs, are named', async () => {
  await expect(initialFactors('pissa', { ...input, rank: 6 })).rejects.toThrow('a rank of at most 5');
  await expect(initialFactors('corda', { ...input, differences: null })).rejects.toThrow(
    'expected paired input differences',
  );
  const zeros = new Float32Array(pairs * inputs);
  await expect(initialFactors('scorda', { ...input, differences: zeros })).rejects.toThrow('are the same');
});

describe('a start of one’s own', () => {
  const zeros: AdapterStart = {
    name: 'zeros',
    summary: 'nothing',
    needsPairs: false,
    needsWeight: false,
    parametrisation: 'linear',
    factors: ({ rank: R, inputs: C, outputs: O }) => ({
      A0: new Float32Array(2 * R * C),
      B0: new Float32Array(O * 2 * R),
    }),
  };

  test('is found in a longer list, beside the built-in ones', async () => {
    const starts = [...builtinStarts, defineStart(zeros)];
    expect(findStart('zeros', starts)).toBe(zeros);
    expect(findStart('scorda', starts).needsPairs).toBe(true);
    expect((await computeFactors(zeros, input, fullSvd)).A0.length).toBe(2 * rank * inputs);
    expect(() => findStart('zeros')).toThrow(
      'expected lora, lora-frozen-b, pissa, corda, scorda, scorda-reversed, antipasto',
    );
  });

  test.each<[string, object, string]>([
    ['a name with a space', { name: 'my start' }, 'small letters'],
    ['a name that is a path', { name: '../x' }, 'small letters'],
    ['another parametrisation', { parametrisation: 'dora' }, 'linear or frozen-b or antipasto, found "dora"'],
    ['no function', { factors: null }, 'key factors: expected a function'],
    ['half a version', { cacheVersion: 0.5 }, 'key cacheVersion: expected a whole number'],
  ])('%s is refused', (_, change, message) => {
    expect(() => defineStart({ ...zeros, ...change })).toThrow(message);
  });

  test.each<[string, Partial<Record<'A0' | 'B0', unknown>>, string]>([
    ['a short A0', { A0: new Float32Array(3) }, 'factor A0: expected a Float32Array [6, 10], found 3 numbers'],
    ['a list', { B0: [1, 2] }, 'factor B0: expected a Float32Array [12, 6], found object'],
    ['no B0', { B0: undefined }, 'found undefined'],
    ['a NaN', { B0: new Float32Array(72).fill(Number.NaN, 5) }, 'finite numbers, found NaN at element 5'],
  ])('%s is refused where it is used', async (_, wrong, message) => {
    const factors = async (given: StartInput) =>
      ({ ...(await zeros.factors(given, fullSvd)), ...wrong }) as InitialFactors;
    await expect(computeFactors({ ...zeros, factors }, input, fullSvd)).rejects.toThrow(message);
  });
});
