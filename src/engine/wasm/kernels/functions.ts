// exp, log and tanh of four floats, after Cephes (S. L. Moshier): reduce the argument, then a short polynomial. Within 2
// units in the last place, subnormal results, infinities and NaN included.
import { madd } from './tile';

// @ts-ignore: decorator
@inline
function splat(value: f32): v128 {
  return f32x4.splat(value);
}

/** 2^n for n in −126 … 127. */
// @ts-ignore: decorator
@inline
function powerOfTwo(n: v128): v128 {
  return i32x4.shl(i32x4.add(n, i32x4.splat(127)), 23);
}

/** x = n ln 2 + r, exp x = 2^n exp r. 2^n is applied in two halves, so that results may be subnormal or infinite. */
// @ts-ignore: decorator
@inline
export function exp4(value: v128): v128 {
  const x = f32x4.min(f32x4.max(value, splat(-104)), splat(89));
  const n = f32x4.nearest(f32x4.mul(x, splat(1.44269504)));
  let r = f32x4.sub(x, f32x4.mul(n, splat(0.693359375)));
  r = f32x4.sub(r, f32x4.mul(n, splat(-2.12194440e-4)));
  let p = madd(splat(1.9875691500e-4), r, splat(1.3981999507e-3));
  p = madd(p, r, splat(8.3334519073e-3));
  p = madd(p, r, splat(4.1665795894e-2));
  p = madd(p, r, splat(1.6666665459e-1));
  p = madd(p, r, splat(5.0000001201e-1));
  p = f32x4.add(madd(p, f32x4.mul(r, r), r), splat(1));
  const whole = i32x4.trunc_sat_f32x4_s(n);
  const half = i32x4.shr_s(whole, 1);
  return f32x4.mul(f32x4.mul(p, powerOfTwo(half)), powerOfTwo(i32x4.sub(whole, half)));
}

/** x = 2^e m with m in √½ … √2, log x = e ln 2 + log m. */
// @ts-ignore: decorator
@inline
export function log4(value: v128): v128 {
  const tiny = f32x4.lt(value, splat(1.17549435e-38));
  const x = v128.bitselect(f32x4.mul(value, splat(8388608)), value, tiny);
  let e = i32x4.sub(i32x4.shr_u(x, 23), i32x4.splat(126));
  e = i32x4.sub(e, v128.and(tiny, i32x4.splat(23)));
  let m = v128.or(v128.and(x, i32x4.splat(0x007fffff)), i32x4.splat(0x3f000000));
  const low = f32x4.lt(m, splat(0.707106781));
  e = i32x4.add(e, low);
  m = f32x4.sub(f32x4.add(m, v128.and(m, low)), splat(1));
  const n = f32x4.convert_i32x4_s(e);
  const z = f32x4.mul(m, m);
  let p = madd(splat(7.0376836292e-2), m, splat(-1.1514610310e-1));
  p = madd(p, m, splat(1.1676998740e-1));
  p = madd(p, m, splat(-1.2420140846e-1));
  p = madd(p, m, splat(1.4249322787e-1));
  p = madd(p, m, splat(-1.6668057665e-1));
  p = madd(p, m, splat(2.0000714765e-1));
  p = madd(p, m, splat(-2.4999993993e-1));
  p = madd(p, m, splat(3.3333331174e-1));
  p = f32x4.mul(f32x4.mul(p, m), z);
  p = madd(n, splat(-2.12194440e-4), p);
  p = madd(z, splat(-0.5), p);
  const finite = madd(n, splat(0.693359375), f32x4.add(m, p));
  // log 0 = −∞, log ∞ = ∞, of a negative number or NaN: NaN.
  const atZero = v128.bitselect(splat(-Infinity), finite, f32x4.eq(value, splat(0)));
  const atTop = v128.bitselect(value, atZero, f32x4.eq(value, splat(Infinity)));
  const defined = f32x4.ge(value, splat(0));
  return v128.bitselect(atTop, splat(NaN), defined);
}

/** Near 0 an odd polynomial, else 1 − 2 / (exp 2|x| + 1) with the sign of x. */
// @ts-ignore: decorator
@inline
export function tanh4(x: v128): v128 {
  const size = f32x4.abs(x);
  const z = f32x4.mul(x, x);
  let p = madd(splat(-5.70498872745e-3), z, splat(2.06390887954e-2));
  p = madd(p, z, splat(-5.37397155531e-2));
  p = madd(p, z, splat(1.33314422036e-1));
  p = madd(p, z, splat(-3.33332819422e-1));
  const near = madd(f32x4.mul(p, z), x, x);
  const far = f32x4.sub(
    splat(1),
    f32x4.div(splat(2), f32x4.add(exp4(f32x4.add(size, size)), splat(1))),
  );
  const signed = v128.or(far, v128.and(x, i32x4.splat(0x80000000)));
  return v128.bitselect(near, signed, f32x4.lt(size, splat(0.625)));
}

/** 1 / (1 + exp −x). */
// @ts-ignore: decorator
@inline
export function sigmoid4(x: v128): v128 {
  return f32x4.div(splat(1), f32x4.add(splat(1), exp4(f32x4.neg(x))));
}

export function logOf(x: f32): f32 {
  return f32x4.extract_lane(log4(f32x4.splat(x)), 0);
}

export function expOf(x: f32): f32 {
  return f32x4.extract_lane(exp4(f32x4.splat(x)), 0);
}
