import { describe, expect, it } from 'vitest';
import { fitProbe, probability } from './logistic.ts';

const options = { steps: 1, learningRate: 0.1, batch: 32, seed: 1 };

describe('logistic regression', () => {
  it('moves by the learning rate in its first step, as Adam does, over centred and scaled coordinates', () => {
    // Mean 3 and deviation 1: the rows are ±1 after scaling, and the slope of the weight is −1/2, that of the intercept 0.
    const probe = fitProbe([Float32Array.of(4), Float32Array.of(2)], [1, 0], options);
    expect(probe[0]).toBeCloseTo(0.1, 6);
    expect(probe[1]).toBeCloseTo(-0.3, 6);
    expect(probability(probe, Float32Array.of(4))).toBeCloseTo(1 / (1 + Math.exp(-0.1)), 6);
    expect(probability(probe, Float32Array.of(3))).toBeCloseTo(0.5, 6);
  });

  it('finds the two sides of an axis, whatever its offset, and leaves a constant coordinate alone', () => {
    const rows = Array.from({ length: 40 }, (_, i) => Float32Array.of(100 + (i % 2) + 0.1 * Math.sin(i), 5));
    const targets = rows.map((_, i) => i % 2);
    const probe = fitProbe(rows, targets, { steps: 300, learningRate: 0.1, batch: 8, seed: 3 });
    rows.forEach((row, i) => {
      expect(probability(probe, row) > 0.5).toBe(i % 2 === 1);
    });
    expect(Math.abs(probe[1])).toBe(0);
    expect(fitProbe(rows, targets, { ...options, batch: 8 })).toEqual(
      fitProbe(rows, targets, { ...options, batch: 8 }),
    );
    expect(fitProbe(rows, targets, { ...options, batch: 8, seed: 2 })).not.toEqual(
      fitProbe(rows, targets, { ...options, batch: 8 }),
    );
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('refuses activations of %s', (value) => {
    const rows = [Float32Array.of(1, 2), Float32Array.of(1, value)];
    expect(() => fitProbe(rows, [0, 1], options)).toThrow('expected finite activations, found others in example 1');
  });

  it('refuses rows of several widths', () => {
    expect(() => fitProbe([Float32Array.of(1), Float32Array.of(1, 2)], [0, 1], options)).toThrow('all of one width');
    expect(() => fitProbe([], [], options)).toThrow('at least one row');
  });
});
