// Conversions between f32 and the 16-bit floats, to nearest even, eight elements at a time. Subnormals, infinities and NaN included.
import { tileScratch } from './layout';

@unmanaged
class ConvertJob {
  size: i32;
  each: i32;
  from: usize;
  to: usize;
  /** Types: 0 f32, 1 bf16, 2 f16. */
  fromType: i32;
  toType: i32;
}

/** Four floats from four 16-bit values in the low halves of 32-bit lanes. */
// @ts-ignore: decorator
@inline
function widen(half: v128, type: i32): v128 {
  if (type == 1) return i32x4.shl(half, 16);
  const sign = i32x4.shl(v128.and(half, i32x4.splat(0x8000)), 16);
  const magnitude = i32x4.shl(v128.and(half, i32x4.splat(0x7fff)), 13);
  // The exponent is 112 too small; a product with 2^112 repairs it for subnormals too.
  const finite = f32x4.mul(magnitude, i32x4.splat(0x77800000));
  const special = v128.or(magnitude, i32x4.splat(0x7f800000));
  const isSpecial = i32x4.ge_u(magnitude, i32x4.splat(0x0f800000));
  return v128.or(sign, v128.bitselect(special, finite, isSpecial));
}

/** Four 16-bit values in the low halves of 32-bit lanes. */
// @ts-ignore: decorator
@inline
function narrow(value: v128, type: i32): v128 {
  const magnitude = v128.and(value, i32x4.splat(0x7fffffff));
  const isNaN = i32x4.gt_u(magnitude, i32x4.splat(0x7f800000));
  if (type == 1) {
    const top = i32x4.shr_u(value, 16);
    const odd = v128.and(top, i32x4.splat(1));
    const rounded = i32x4.shr_u(i32x4.add(value, i32x4.add(odd, i32x4.splat(0x7fff))), 16);
    return v128.bitselect(v128.or(top, i32x4.splat(0x40)), rounded, isNaN);
  }
  const sign = v128.and(i32x4.shr_u(value, 16), i32x4.splat(0x8000));
  const odd = v128.and(i32x4.shr_u(magnitude, 13), i32x4.splat(1));
  const rounded = i32x4.add(magnitude, i32x4.add(odd, i32x4.splat(0xfff)));
  const normal = i32x4.shr_u(i32x4.sub(rounded, i32x4.splat(0x38000000)), 13);
  // Adding ½ leaves a subnormal's rounded bits at the bottom of the fraction.
  const small = i32x4.sub(f32x4.add(magnitude, f32x4.splat(0.5)), i32x4.splat(0x3f000000));
  let result = v128.bitselect(small, normal, i32x4.lt_u(magnitude, i32x4.splat(0x38800000)));
  result = v128.bitselect(i32x4.splat(0x7c00), result, i32x4.ge_u(magnitude, i32x4.splat(0x47800000)));
  return v128.or(sign, v128.bitselect(i32x4.splat(0x7e00), result, isNaN));
}

/** Converts eight elements. */
// @ts-ignore: decorator
@inline
function convertEight(from: usize, to: usize, fromType: i32, toType: i32): void {
  let low: v128;
  let high: v128;
  if (fromType == 0) {
    low = v128.load(from);
    high = v128.load(from, 16);
  } else {
    const halves = v128.load(from);
    low = widen(i32x4.extend_low_i16x8_u(halves), fromType);
    high = widen(i32x4.extend_high_i16x8_u(halves), fromType);
  }
  if (toType == 0) {
    v128.store(to, low);
    v128.store(to, high, 16);
  } else {
    v128.store(to, v128.narrow<u32>(narrow(low, toType), narrow(high, toType)));
  }
}

function convertRun(from: usize, to: usize, size: i32, fromType: i32, toType: i32): void {
  const fromBytes: usize = fromType == 0 ? 4 : 2;
  const toBytes: usize = toType == 0 ? 4 : 2;
  let i = 0;
  for (; i + 8 <= size; i += 8) convertEight(from + i * fromBytes, to + i * toBytes, fromType, toType);
  if (i == size) return;
  const aside = tileScratch();
  convertEight(from + i * fromBytes, aside, fromType, toType);
  memory.copy(to + i * toBytes, aside, <usize>(size - i) * toBytes);
}

export function convert(args: usize, shard: i32): void {
  const job = changetype<ConvertJob>(args);
  const start = <usize>shard * job.each;
  const size = min(job.each, job.size - <i32>start);
  const from = job.from + start * (job.fromType == 0 ? 4 : 2);
  const to = job.to + start * (job.toType == 0 ? 4 : 2);
  // Constant types fold the tests away.
  if (job.fromType == 0 && job.toType == 1) convertRun(from, to, size, 0, 1);
  else if (job.fromType == 0 && job.toType == 2) convertRun(from, to, size, 0, 2);
  else if (job.fromType == 1 && job.toType == 0) convertRun(from, to, size, 1, 0);
  else if (job.fromType == 2 && job.toType == 0) convertRun(from, to, size, 2, 0);
  else convertRun(from, to, size, job.fromType, job.toType);
}

@unmanaged
class FillHalvesJob {
  out: usize;
  size: i32;
  pattern: i32;
}

/** Fills 16-bit elements, in one shard. */
export function fillHalves(args: usize, shard: i32): void {
  const job = changetype<FillHalvesJob>(args);
  for (let i = 0; i < job.size; i++) store<u16>(job.out + <usize>i * 2, <u16>job.pattern);
}
