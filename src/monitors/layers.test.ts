/** Probes by layer, with numbers worked out by hand. */
import { expect, it } from 'vitest';
import { fitLayers, joinProbes, layeredProbability, layeredSlope, layerRanges, splitProbes } from './layers.ts';
import { meanLoss } from './logistic.ts';

const modules = ['0.mlp.up', '0.self_attn.q', '1.mlp.up', '10.mlp.up'].map((name) => ({
  name: `model.layers.${name}`,
}));
const one = { steps: 1, learningRate: 0.1, batch: 8, seed: 1 };

it('the modules of a layer are the columns of one probe', () => {
  expect(layerRanges(modules, 2, 'together')).toEqual([{ start: 0, end: 8 }]);
  expect(layerRanges(modules, 2, 'mean')).toEqual([
    { start: 0, end: 4 },
    { start: 4, end: 6 },
    { start: 6, end: 8 },
  ]);
});

it('mean and least of probabilities, over the layers that count', () => {
  const ranges = [0, 1, 2].map((start) => ({ start, end: start + 1 }));
  // Probabilities of a row of ones: logistic of ln 3, 0 and −ln 3, which are 3/4, 1/2 and 1/4.
  const probes = [Math.log(3), 0, -Math.log(3)].map((weight) => Float32Array.of(weight, 0));
  const row = Float32Array.of(1, 1, 1);
  const all = { probes, counts: [true, true, true] };
  expect(layeredProbability(all, ranges, 'mean', row)).toBeCloseTo(0.5, 6);
  expect(layeredProbability(all, ranges, 'least', row)).toBeCloseTo(0.25, 6);
  const some = { probes, counts: [true, true, false] };
  expect(layeredProbability(some, ranges, 'mean', row)).toBeCloseTo(0.625, 6);
  expect(splitProbes(joinProbes(some), some.counts, ranges)).toEqual(some);
});

it('slopes of mean and least, over the layers that count', () => {
  const ranges = [0, 1, 2].map((start) => ({ start, end: start + 1 }));
  const probes = [Math.log(3), 0.5, -Math.log(3)].map((weight, i) => Float32Array.of(weight, i === 1 ? -0.5 : 0));
  const row = Float32Array.of(1, 1, 1);
  // p is 3/4, 1/2 and 1/4, so p (1 − p) is 3/16, 1/4 and 3/16.
  const slopes = [(3 / 16) * Math.log(3), 1 / 8, (-3 / 16) * Math.log(3)];
  const near = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 6));
  const all = { probes, counts: [true, true, true] };
  expect(Array.from(layeredSlope(all, ranges, 'mean', row))).toEqual(near(slopes.map((slope) => slope / 3)));
  expect(Array.from(layeredSlope(all, ranges, 'least', row))).toEqual(near([0, 0, slopes[2]]));
  const some = { probes, counts: [true, true, false] };
  expect(Array.from(layeredSlope(some, ranges, 'mean', row))).toEqual(near([slopes[0] / 2, slopes[1] / 2, 0]));
  expect(Array.from(layeredSlope(some, ranges, 'least', row))).toEqual(near([0, slopes[1], 0]));
});

it('a layer that does not fit its examples does not count in the mean', () => {
  // The first column is ±1 by side, the second says nothing: its probe stays at 0, with a loss of ln 2 = 0.693.
  const rows = [Float32Array.of(1, 5), Float32Array.of(-1, 5)];
  const ranges = [
    { start: 0, end: 1 },
    { start: 1, end: 2 },
  ];
  const fit = fitLayers(rows, [1, 0], ranges, 'mean', { ...one, learningRate: 0.5 });
  expect(fit.counts).toEqual([true, false]);
  // Adam's first step moves the weight by the learning rate: a loss of ln(1 + e^−0.5) = 0.474.
  const [column] = [rows.map((row) => row.subarray(0, 1))];
  expect(meanLoss(fit.probes[0], column, [1, 0])).toBeCloseTo(Math.log(1 + Math.exp(-0.5)), 5);
  expect(fitLayers(rows, [1, 0], ranges, 'least', one).counts).toEqual([true, true]);
  expect(() => fitLayers(rows, [1, 0], ranges, 'mean', one)).toThrow('a layer whose probe has a loss below 0.6');
});
