/** Casts through `copy`: to nearest, ties to even, checked against the neighbours in exact arithmetic. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bfloat16ToFloat, float16ToFloat } from '../../base/half.ts';
import { Scope } from '../scope.ts';
import type { DType, HostArray } from '../tensor.ts';
import { createReferenceDevice } from './index.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 22 });

async function cast(data: HostArray, from: DType, to: DType): Promise<HostArray> {
  using scope = new Scope(device);
  const source = scope.from(data, [data.length], 'source', from);
  const target = scope.empty([data.length], 'target', to);
  device.kernels.copy(target, source);
  return device.read(target);
}

/** Comparing long arrays element by element is what makes `toEqual` slow. */
function expectSame(found: HostArray, expected: HostArray): void {
  expect(found.length).toBe(expected.length);
  expect([...found.keys()].filter((i) => !Object.is(found[i], expected[i]))).toEqual([]);
}

const widen = { bf16: bfloat16ToFloat, f16: float16ToFloat };
const infinityBits = { bf16: 0x7f80, f16: 0x7c00 };

test.each(['bf16', 'f16'] as const)('f32 to %s takes the nearest, ties to even', async (dtype) => {
  const largest = widen[dtype](infinityBits[dtype] - 1);
  const value = fc.float({ noNaN: true, noDefaultInfinity: true, min: -65504, max: 65504 });
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 50 }), async (values) => {
      const found = await cast(Float32Array.from(values), 'f32', dtype);
      values.forEach((exact, i) => {
        const bits = found[i];
        const error = Math.abs(widen[dtype](bits) - exact);
        for (const neighbour of [bits - 1, bits + 1]) {
          if ((neighbour & 0x7fff) > infinityBits[dtype] - 1 || neighbour < 0) continue;
          const other = Math.abs(widen[dtype](neighbour) - exact);
          expect(error).toBeLessThanOrEqual(other);
          if (error === other && error > 0) expect(bits % 2).toBe(0);
        }
        expect(Math.abs(widen[dtype](bits))).toBeLessThanOrEqual(largest);
      });
    }),
  );
});

test('16-bit values widen exactly, and narrow back to themselves', async () => {
  for (const dtype of ['bf16', 'f16'] as const) {
    const finite = Uint16Array.from({ length: 0x10000 }, (_, bits) => bits).filter(
      (bits) => (bits & 0x7fff) < infinityBits[dtype],
    );
    const wide = await cast(finite, dtype, 'f32');
    expectSame(wide, Float32Array.from(finite, widen[dtype]));
    expectSame(await cast(wide, 'f32', dtype), finite);
  }
});

test('bf16 to f16 and back is what going through f32 gives', async () => {
  const bits = Uint16Array.from({ length: 0x7f80 }, (_, i) => i);
  const wide = await cast(bits, 'bf16', 'f32');
  expectSame(await cast(bits, 'bf16', 'f16'), await cast(wide, 'f32', 'f16'));
  const halves = bits.filter((each) => each < 0x7c00);
  expectSame(await cast(halves, 'f16', 'bf16'), await cast(await cast(halves, 'f16', 'f32'), 'f32', 'bf16'));
});

test('i32 stays i32, also beyond what a float holds', async () => {
  const data = Int32Array.of(0, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 24 + 1);
  expect(await cast(data, 'i32', 'i32')).toEqual(data);
});
