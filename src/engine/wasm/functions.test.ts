/** How far exp, log and tanh are from the truth, in units of the last place; and conversions, bit for bit. */
import { afterAll, describe, expect, test } from 'vitest';
import { bfloat16ToFloat, float16ToFloat, floatToBfloat16, floatToFloat16 } from '../../base/half.ts';
import type { UnaryKind } from '../kernels.ts';
import { Scope } from '../scope.ts';
import type { DType, HostArray } from '../tensor.ts';
import { readFloats } from '../transfer.ts';
import { createWasmDevice, type Variant } from './index.ts';

const variants: readonly Variant[] = ['plain', 'relaxed', 'wide'];
const devices = await Promise.all(
  variants.map((variant) => createWasmDevice({ variant, threads: 2, arenaBytes: 2 ** 27 })),
);
afterAll(() => {
  for (const device of devices) device[Symbol.dispose]();
});

/** Floats of every exponent between two bounds, by stepping through the bits. */
function spread(low: number, high: number): number[] {
  const bits = new Int32Array(new Float32Array([low, high]).buffer);
  const step = Math.max(1, Math.floor((bits[1] - bits[0]) / 100_003));
  const raw = Int32Array.from({ length: Math.floor((bits[1] - bits[0]) / step) }, (_, i) => bits[0] + i * step);
  return Array.from(new Float32Array(raw.buffer));
}

const bothSigns = (values: number[]) => [...values, ...values.map((value) => -value)];

/** The distance between neighbouring floats at `value`. */
function ulp(value: number): number {
  return Math.max(2 ** (Math.floor(Math.log2(Math.abs(value))) - 23), 2 ** -149);
}

describe.each(devices.map((device) => [device.variant, device] as const))('functions, %s', (_, device) => {
  const apply = async (kind: UnaryKind, x: Float32Array): Promise<Float32Array> => {
    using scope = new Scope(device);
    const tensor = scope.from(x, [x.length], 'x');
    device.kernels.unary(kind, tensor, tensor);
    return await readFloats(tensor);
  };
  const worstUlps = async (kind: UnaryKind, exact: (x: number) => number, inputs: number[]): Promise<number> => {
    const x = Float32Array.from(inputs);
    const found = await apply(kind, x);
    return found.reduce((most, y, i) => Math.max(most, Math.abs(y - exact(x[i])) / ulp(exact(x[i]))), 0);
  };

  test('exp is within 1 unit down to exp −87', async () => {
    const inputs = [...spread(1e-9, 88.72), ...spread(1e-9, 87).map((x) => -x)];
    expect(await worstUlps('exp', Math.exp, inputs)).toBeLessThan(1);
  });
  test('log is within 1 unit, subnormal inputs included', async () => {
    expect(await worstUlps('log', Math.log, spread(1e-45, 3.4e38))).toBeLessThan(1);
  });
  test('tanh is within 1.25 units', async () => {
    expect(await worstUlps('tanh', Math.tanh, bothSigns(spread(1e-30, 20)))).toBeLessThan(1.25);
  });
  test('the ends of the line', async () => {
    const ends = Float32Array.of(
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NaN,
      0,
      -0,
      89,
      -200,
      5e-324,
    );
    const { POSITIVE_INFINITY: up, NEGATIVE_INFINITY: down, NaN: nan } = Number;
    expect(Array.from(await apply('exp', ends))).toEqual([up, 0, nan, 1, 1, up, 0, 1]);
    expect(Array.from(await apply('log', ends.slice(0, 5)))).toEqual([up, nan, nan, down, down]);
    expect(Array.from(await apply('tanh', ends))).toEqual([1, -1, nan, 0, -0, 1, -1, 0]);
  });

  const convert = async (data: HostArray, from: DType, to: DType): Promise<HostArray> => {
    using scope = new Scope(device);
    const [input, output] = [scope.empty([data.length], 'in', from), scope.empty([data.length], 'out', to)];
    device.write(input, data);
    device.kernels.copy(output, input);
    return await device.read(output);
  };
  const same = (found: HostArray, expected: HostArray) =>
    Buffer.compare(Buffer.from(found.buffer), Buffer.from(expected.buffer)) === 0;

  test('every half widens exactly, and comes back', async () => {
    const halves = Uint16Array.from({ length: 65536 }, (_, i) => i);
    for (const [type, widen, narrow] of [
      ['bf16', bfloat16ToFloat, floatToBfloat16],
      ['f16', float16ToFloat, floatToFloat16],
    ] as const) {
      const wide = await convert(halves, type, 'f32');
      const wrong = halves.findIndex((half, i) => !Object.is(wide[i], widen(half)));
      expect(wrong).toBe(-1);
      expect(same(await convert(wide, 'f32', type), Uint16Array.from(Float32Array.from(wide), narrow))).toBe(true);
    }
  });
  test('floats round to the nearest half, ties to even', async () => {
    const raw = Uint32Array.from({ length: 300_007 }, (_, i) => Math.imul(i, 14_317) >>> 0);
    const floats = new Float32Array(raw.buffer);
    const ties = Float32Array.from({ length: 4096 }, (_, i) => (i - 2048 + 0.5) * 2 ** -25);
    for (const [type, narrow] of [
      ['bf16', floatToBfloat16],
      ['f16', floatToFloat16],
    ] as const) {
      for (const data of [floats, ties]) {
        expect(same(await convert(data, 'f32', type), Uint16Array.from(data, narrow))).toBe(true);
      }
    }
  });
  test('odd sizes and the other half', async () => {
    for (const size of [0, 1, 7, 9, 33]) {
      const halves = Uint16Array.from({ length: size }, (_, i) => 0x3c00 + 5 * i);
      expect(await convert(halves, 'f16', 'bf16')).toEqual(
        Uint16Array.from(halves, (h) => floatToBfloat16(float16ToFloat(h))),
      );
      expect(await convert(halves, 'f16', 'f16')).toEqual(halves);
    }
    const ints = Int32Array.from({ length: 13 }, (_, i) => i * 1_000_003);
    expect(await convert(ints, 'i32', 'i32')).toEqual(ints);
  });
  test('fill, in every type', async () => {
    using scope = new Scope(device);
    for (const [type, bits] of [
      ['f32', Math.fround(1.5)],
      ['i32', 1.5 | 0],
      ['bf16', 0x3fc0],
      ['f16', 0x3e00],
    ] as const) {
      const tensor = scope.empty([11], 'filled', type);
      device.kernels.fill(tensor, type === 'i32' ? 1 : 1.5);
      expect(Array.from(await device.read(tensor))).toEqual(Array(11).fill(bits));
    }
  });
});
