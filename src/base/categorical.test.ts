import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { categorical, cumulate, drawFromCumulative } from './categorical.ts';
import { UserError } from './errors.ts';
import { randomStream } from './rng.ts';

describe('categorical', () => {
  it('cuts the unit interval in proportion to the weights', () => {
    const weights = [1, 0, 2, 1];
    expect([0, 0.2499, 0.25, 0.7499, 0.75, 0.9999].map((uniform) => categorical(weights, uniform))).toEqual([
      0, 0, 2, 2, 3, 3,
    ]);
  });

  it('draws as a linear scan does, and never an index of weight 0', () => {
    const weight = fc.oneof(fc.constant(0), fc.double({ min: 1e-300, max: 1e300, noNaN: true }));
    const uniform = fc.oneof(fc.constant(1 - 2 ** -53), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }));
    fc.assert(
      fc.property(fc.array(weight, { minLength: 1, maxLength: 20 }), uniform, (weights, u) => {
        fc.pre(weights.some((value) => value > 0));
        const cumulative = cumulate(weights);
        const total = cumulative[weights.length - 1];
        const drawn = drawFromCumulative(cumulative, u);
        expect(weights[drawn]).toBeGreaterThan(0);
        const scanned = cumulative.findIndex((value) => value > u * total);
        expect(drawn).toBe(scanned < 0 ? cumulative.indexOf(total) : scanned);
      }),
    );
  });

  it('draws the last index that has weight when uniform · total rounds up to the total', () => {
    expect(categorical([Number.MIN_VALUE, 0], 1 - 2 ** -53)).toBe(0);
  });

  it('draws with the frequencies of the weights', () => {
    const cumulative = cumulate([1, 2, 3, 4]);
    const stream = randomStream(3, 'draws');
    const counts = [0, 0, 0, 0];
    for (let position = 0; position < 20_000; position += 1) {
      counts[drawFromCumulative(cumulative, stream.uniformAt(position))] += 1;
    }
    const statistic = counts.reduce((sum, count, k) => sum + (count - 2000 * (k + 1)) ** 2 / (2000 * (k + 1)), 0);
    // Upper 0.1 % point of chi-square with 3 degrees of freedom (NIST/SEMATECH e-Handbook, 1.3.6.7.4).
    expect(statistic).toBeLessThan(16.266);
  });

  it.each([
    [[], 0.5],
    [[0, 0], 0.5],
    [[1, -1], 0.5],
    [[1, Number.NaN], 0.5],
    [[1, Number.POSITIVE_INFINITY], 0.5],
    [[1], 1],
    [[1], Number.NaN],
  ])('refuses weights %j with uniform %d', (weights, uniform) => {
    expect(() => categorical(weights, uniform)).toThrow(UserError);
  });
});
