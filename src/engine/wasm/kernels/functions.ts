// exp, log and tanh of four floats, after Cephes (S. L. Moshier): reduce the argument, then a short polynomial. Within 1.25
// units in the last place, infinities and NaN included (exp below 2^−125 is 0). Constants lie in memory: a broadcast load is
// one instruction, a splat of a literal three in every iteration. Only operations that V8 can join in pairs are used, so
// a loop that stores two neighbouring results runs on 256 bits where the engine can.
import { madd, nmadd } from './tile';

const EXP = memory.data<f32>([
  -87, 89, 1.44269504, 12582912, 0.693359375, -2.12194440e-4,
  1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1,
]);
const EXP_BITS = memory.data<i32>([126]);
const LOG = memory.data<f32>([
  1.17549435e-38, 8388608, 0.707106781, 1,
  7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
  2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1, -2.12194440e-4, -0.5, 0.693359375,
]);
const LOG_BITS = memory.data<i32>([126, 23, 0x007fffff, 0x3f000000, 0x7f800000, 0xff800000, 0x7fc00000]);
const TANH = memory.data<f32>([
  -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1, 1, 2, 0.625, -0.0,
]);

// @ts-ignore: decorator
@inline
function constant(table: usize, index: usize): v128 {
  return v128.load32_splat(table + index * 4);
}

/**
 * x = n ln 2 + r, exp x = 2 · 2^(n − 1) exp r. Adding 1.5 · 2²³ rounds to the whole n and leaves it in the low bits.
 * Below −87 the result is 0: subnormal numbers would cost a hundred times the rest. A NaN passes through.
 */
// @ts-ignore: decorator
@inline
export function exp4(value: v128): v128 {
  const low = constant(EXP, 0);
  const x = f32x4.pmin(f32x4.pmax(value, low), constant(EXP, 1));
  const shifted = madd(x, constant(EXP, 2), constant(EXP, 3));
  const n = f32x4.sub(shifted, constant(EXP, 3));
  const r = nmadd(n, constant(EXP, 5), nmadd(n, constant(EXP, 4), x));
  let p = madd(constant(EXP, 6), r, constant(EXP, 7));
  p = madd(p, r, constant(EXP, 8));
  p = madd(p, r, constant(EXP, 9));
  p = madd(p, r, constant(EXP, 10));
  p = madd(p, r, constant(EXP, 11));
  p = f32x4.add(madd(p, f32x4.mul(r, r), r), constant(EXP, 12));
  const power = i32x4.shl(i32x4.add(shifted, constant(EXP_BITS, 0)), 23);
  return v128.andnot(f32x4.mul(f32x4.add(p, p), power), f32x4.lt(value, low));
}

/** x = 2^e m with m in √½ … √2, log x = e ln 2 + log m. */
// @ts-ignore: decorator
@inline
export function log4(value: v128): v128 {
  const tiny = f32x4.lt(value, constant(LOG, 0));
  const x = v128.bitselect(f32x4.mul(value, constant(LOG, 1)), value, tiny);
  let e = i32x4.sub(i32x4.shr_u(x, 23), constant(LOG_BITS, 0));
  e = i32x4.sub(e, v128.and(tiny, constant(LOG_BITS, 1)));
  let m = v128.or(v128.and(x, constant(LOG_BITS, 2)), constant(LOG_BITS, 3));
  const low = f32x4.lt(m, constant(LOG, 2));
  e = i32x4.add(e, low);
  m = f32x4.sub(f32x4.add(m, v128.and(m, low)), constant(LOG, 3));
  const n = f32x4.convert_i32x4_s(e);
  const z = f32x4.mul(m, m);
  let p = madd(constant(LOG, 4), m, constant(LOG, 5));
  for (let i: usize = 6; i < 13; i++) p = madd(p, m, constant(LOG, i));
  p = f32x4.mul(f32x4.mul(p, m), z);
  p = madd(n, constant(LOG, 13), p);
  p = madd(z, constant(LOG, 14), p);
  const finite = madd(n, constant(LOG, 15), f32x4.add(m, p));
  // log 0 = −∞, log ∞ = ∞, of a negative number or NaN: NaN.
  const zero = f32x4.splat(0);
  const infinity = constant(LOG_BITS, 4);
  const atZero = v128.bitselect(constant(LOG_BITS, 5), finite, f32x4.eq(value, zero));
  const atTop = v128.bitselect(infinity, atZero, f32x4.eq(value, infinity));
  return v128.bitselect(atTop, constant(LOG_BITS, 6), f32x4.ge(value, zero));
}

/** tanh x: near 0 an odd polynomial, else 1 − 2 / (exp 2|x| + 1) with the sign of x. */
// @ts-ignore: decorator
@inline
export function tanh4(x: v128): v128 {
  const size = v128.andnot(x, constant(TANH, 8));
  const z = f32x4.mul(x, x);
  let p = madd(constant(TANH, 0), z, constant(TANH, 1));
  p = madd(p, z, constant(TANH, 2));
  p = madd(p, z, constant(TANH, 3));
  p = madd(p, z, constant(TANH, 4));
  const near = madd(f32x4.mul(p, z), size, size);
  const one = constant(TANH, 5);
  const far = f32x4.sub(one, f32x4.div(constant(TANH, 6), f32x4.add(exp4(f32x4.add(size, size)), one)));
  const result = v128.bitselect(near, far, f32x4.lt(size, constant(TANH, 7)));
  return v128.or(result, v128.and(x, constant(TANH, 8)));
}

/** 1 / (1 + exp −x). */
// @ts-ignore: decorator
@inline
export function sigmoid4(x: v128): v128 {
  const one = constant(EXP, 12);
  return f32x4.div(one, f32x4.add(one, exp4(f32x4.neg(x))));
}

export function logOf(x: f32): f32 {
  return f32x4.extract_lane(log4(f32x4.splat(x)), 0);
}

export function expOf(x: f32): f32 {
  return f32x4.extract_lane(exp4(f32x4.splat(x)), 0);
}

/** √x by the vector instruction: V8's scalar one is of the old encoding, which waits 150 ns after an operation on 256 bits. */
export function rootOf(x: f32): f32 {
  return f32x4.extract_lane(f32x4.sqrt(f32x4.splat(x)), 0);
}
