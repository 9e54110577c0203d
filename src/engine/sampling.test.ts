/** Drawing a token against the definition, written as plainly as possible: sort everything, keep, share the interval. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SampleOptions } from './kernels.ts';
import { type Draw, drawToken } from './sampling.ts';

const options = (change: Partial<SampleOptions> = {}): SampleOptions => ({
  key: [1, 2],
  step: 0,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  ...change,
});

function definition(logits: Float32Array, uniform: number, { temperature, topK, topP, minP }: SampleOptions): Draw {
  const top = Math.max(...logits);
  const weights = Array.from(logits, (value) => Math.exp((value - top) / temperature));
  let kept = [...weights.keys()].sort((a, b) => weights[b] - weights[a] || a - b);
  if (topK > 0) kept = kept.slice(0, topK);
  if (topP < 1) {
    const enough = topP * kept.reduce((sum, id) => sum + weights[id], 0);
    let sum = 0;
    kept = kept.filter((id) => {
      const before = sum;
      sum += weights[id];
      return before < enough;
    });
  }
  kept = kept.filter((id) => weights[id] >= minP).sort((a, b) => a - b);
  const total = kept.reduce((sum, id) => sum + weights[id], 0);
  let rest = uniform * total;
  const token = kept.find((id) => {
    rest -= weights[id];
    return rest < 0;
  });
  const all = logits.reduce((sum, value) => sum + Math.exp(value - top), 0);
  const chosen = token ?? kept[kept.length - 1];
  return {
    token: chosen,
    truncated: Math.log(weights[chosen] / total),
    full: logits[chosen] - top - Math.log(all),
  };
}

/** Few distinct values, so that ties are common. */
const someLogits = fc.array(fc.integer({ min: -12, max: 12 }), { minLength: 1, maxLength: 40 });

describe('drawToken', () => {
  test('is the definition, whatever is kept', () => {
    fc.assert(
      fc.property(
        someLogits,
        fc.integer({ min: 0, max: 2 ** 24 - 1 }),
        fc.constantFrom(0.3, 0.7, 1, 2),
        fc.constantFrom(0, 1, 2, 5, 100),
        fc.constantFrom(1, 0.95, 0.5, 0.1),
        fc.constantFrom(0, 0.02, 0.3, 1),
        (values, place, temperature, topK, topP, minP) => {
          const logits = Float32Array.from(values, (value) => value / 3);
          const uniform = place * 2 ** -24;
          const chosen = options({ temperature, topK, topP, minP });
          const found = drawToken(logits, uniform, chosen);
          const expected = definition(logits, uniform, chosen);
          expect(found.token).toBe(expected.token);
          expect(found.truncated).toBeCloseTo(expected.truncated, 10);
          expect(found.full).toBeCloseTo(expected.full, 10);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('temperature 0 takes the most likely token, of equal ones the first', () => {
    const draw = drawToken(Float32Array.of(1, 3, 3, 0), 0.9, options({ temperature: 0 }));
    expect(draw).toEqual({ token: 1, truncated: 0, full: expect.closeTo(-0.7817, 4) });
  });

  test('tokens of probability zero are never drawn', () => {
    const logits = Float32Array.of(Number.NEGATIVE_INFINITY, 0, Number.NEGATIVE_INFINITY, 0, Number.NEGATIVE_INFINITY);
    expect(drawToken(logits, 0, options()).token).toBe(1);
    expect(drawToken(logits, 1 - 2 ** -24, options()).token).toBe(3);
  });

  test('with equal tokens at the edge of topK, the smaller id stays', () => {
    const logits = Float32Array.of(1, 1, 1, 1);
    const drawn = [0, 0.3, 0.6, 0.99].map((uniform) => drawToken(logits, uniform, options({ topK: 2 })).token);
    expect(drawn).toEqual([0, 0, 1, 1]);
  });
});
