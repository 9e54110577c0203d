/**
 * The special functions behind the distributions: log gamma (Lanczos, g = 7, n = 9), the regularised incomplete beta
 * function I_x(a, b) (continued fraction DLMF 8.17.22, by Lentz's method; relative error below 1e-11 for parameters up to
 * 1e3 and 1e-9 up to 1e5), and the root of a monotone function by bisection.
 */
import { UserError } from '../base/index.ts';

const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];
const tiny = 1e-300;

/** log Γ(x) for x > 0. */
export function logGamma(x: number): number {
  const shifted = x - 1;
  const base = shifted + 7.5;
  const series = lanczos.reduce(
    (sum, coefficient, k) => sum + (k === 0 ? coefficient : coefficient / (shifted + k)),
    0,
  );
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(base) - base + Math.log(series);
}

/** Numerator k of the continued fraction of I_x(a, b), k = 1, 2, … */
function betaNumerator(k: number, a: number, b: number, x: number): number {
  const m = Math.floor(k / 2);
  return k % 2 === 0
    ? (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    : (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
}

function betaFraction(a: number, b: number, x: number): number {
  let fraction = 1;
  let upper = 1;
  let lower = 0;
  for (let k = 1; k < 1_000_000; k += 1) {
    const numerator = betaNumerator(k, a, b, x);
    lower = 1 / nonZero(1 + numerator * lower);
    upper = nonZero(1 + numerator / upper);
    const factor = upper * lower;
    fraction *= factor;
    if (Math.abs(factor - 1) < 1e-15) return 1 / fraction;
  }
  throw new UserError({ call: 'regularizedBeta', expected: 'parameters it converges for', found: `a ${a}, b ${b}` });
}

function nonZero(value: number): number {
  return Math.abs(value) < tiny ? tiny : value;
}

/** I_x(a, b) for a, b > 0; y = 1 − x is a separate argument because callers know it without cancellation. */
export function regularizedBeta(x: number, y: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(y));
  // The fraction converges fast on the side of the mean.
  if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(a, b, x)) / a;
  return 1 - (front * betaFraction(b, a, y)) / b;
}

/** The point in [low, high] where `isBelow` turns from true to false, to the last bit. */
export function bisect(low: number, high: number, isBelow: (x: number) => boolean): number {
  let left = low;
  let right = high;
  for (;;) {
    const middle = left + (right - left) / 2;
    if (middle <= left || middle >= right) return right;
    if (isBelow(middle)) left = middle;
    else right = middle;
  }
}
