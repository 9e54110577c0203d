import { expect, test } from 'vitest';
import { linearWarmup, warmupCosine } from './schedule.ts';

/** Hugging Face transformers, tests of get_cosine_schedule_with_warmup: learning rate 10, warm-up 2, 10 steps. */
const cosine = [0, 5, 10, 9.61, 8.53, 6.91, 5, 3.08, 1.46, 0.38];
/** The same tests, get_constant_schedule_with_warmup: warm-up 4. */
const constant = [0, 2.5, 5, 7.5, 10, 10, 10, 10, 10, 10];

test('warm-up gives the published values one update early: no update has rate zero', () => {
  const rates = constant.map((_, update) => 10 * linearWarmup(update, 4));
  expect(rates.slice(0, -1)).toEqual(constant.slice(1));
  expect(linearWarmup(0, 0)).toBe(1);
});

test('the cosine after the warm-up gives the published values', () => {
  const rates = cosine.map((_, update) => 10 * warmupCosine(update, 2, 10));
  expect(rates.slice(0, 2)).toEqual(cosine.slice(1, 3));
  for (let update = 2; update < cosine.length; update++) {
    expect(Math.abs(rates[update] - cosine[update])).toBeLessThan(0.01);
  }
});

test('the cosine ends at its floor and stays there', () => {
  expect(warmupCosine(10, 2, 10)).toBe(0);
  expect(warmupCosine(50, 2, 10, 0.1)).toBeCloseTo(0.1, 12);
  expect(warmupCosine(6, 2, 10, 0.1)).toBeCloseTo(0.55, 12);
  expect(warmupCosine(5, 5, 5)).toBe(0);
});
