import { describe, expect, test } from 'vitest';
import { bfloat16ToFloat, float16ToFloat, floatToBfloat16, floatToFloat16, narrowFloats, widenHalves } from './half.ts';

test('every finite 16-bit value survives the way to float32 and back', () => {
  const all = Array.from({ length: 0x10000 }, (_, half) => half);
  const [finite16, finiteB16] = [0x7c00, 0x7f80].map((mask) => all.filter((half) => (half & mask) !== mask));
  expect(finite16.filter((half) => floatToFloat16(float16ToFloat(half)) !== half)).toEqual([]);
  expect(finiteB16.filter((half) => floatToBfloat16(bfloat16ToFloat(half)) !== half)).toEqual([]);
});

test('published values of binary16', () => {
  expect(floatToFloat16(65504)).toBe(0x7bff);
  expect(floatToFloat16(65520)).toBe(0x7c00);
  expect(floatToFloat16(65519.99)).toBe(0x7bff);
  expect(floatToFloat16(2 ** -24)).toBe(1);
  expect(floatToFloat16(2 ** -25)).toBe(0);
  expect(floatToFloat16(-0)).toBe(0x8000);
  expect(floatToFloat16(1 / 3)).toBe(0x3555);
  expect(floatToFloat16(2049)).toBe(0x6800);
  expect(floatToFloat16(2051)).toBe(0x6802);
});

test('bfloat16 rounds to nearest even and keeps NaN and infinity', () => {
  expect(floatToBfloat16(1 + 2 ** -8)).toBe(0x3f80);
  expect(floatToBfloat16(1 + 3 * 2 ** -8)).toBe(0x3f82);
  expect(floatToBfloat16(Number.POSITIVE_INFINITY)).toBe(0x7f80);
  expect(floatToBfloat16(3.4e38)).toBe(0x7f80);
  expect(bfloat16ToFloat(floatToBfloat16(Number.NaN))).toBeNaN();
  expect(float16ToFloat(floatToFloat16(Number.NaN))).toBeNaN();
  expect(float16ToFloat(0xfc00)).toBe(Number.NEGATIVE_INFINITY);
});

describe('whole arrays', () => {
  test.each(['bf16', 'f16'] as const)(
    '%s: every 16-bit pattern that is a number survives widening and narrowing',
    (kind) => {
      const patterns = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);
      const wide = widenHalves(patterns, kind);
      const numbers = patterns.filter((bits) => !Number.isNaN(wide[bits]));
      expect(numbers.length).toBeGreaterThan(63_000);
      const again = narrowFloats(widenHalves(numbers, kind), kind);
      expect(again.length).toBe(numbers.length);
      expect(numbers.filter((bits, i) => again[i] !== bits)).toHaveLength(0);
      const single = kind === 'bf16' ? bfloat16ToFloat : float16ToFloat;
      expect(wide.length).toBe(patterns.length);
      expect(patterns.filter((bits, i) => !Object.is(wide[i], Math.fround(single(bits))))).toHaveLength(0);
    },
  );
});
