/**
 * The standard normal distribution: Φ from erfc (a series of positive terms near 0, the Laplace continued fraction in the
 * tail, DLMF 7.6.2 and 7.9.1), and its inverse by Halley's steps from the approximation Abramowitz and Stegun 26.2.23.
 * Both keep their relative precision in the lower tail; for the upper tail use normalCdf(−z).
 */
import { requireNumber, requireProbability } from './inputs.ts';

function density(z: number): number {
  return Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
}

/** Φ(z) − 1/2 = φ(z) (z + z³/3 + z⁵/(3·5) + …). */
function centralArea(z: number): number {
  let term = z;
  let sum = z;
  for (let odd = 3; Math.abs(term) > 1e-17 * Math.abs(sum); odd += 2) {
    term *= (z * z) / odd;
    sum += term;
  }
  return density(z) * sum;
}

/** 1 − Φ(z) = φ(z) / (z + 1/(z + 2/(z + 3/(z + …)))) for z > 0, evaluated from the inside. */
function upperTail(z: number): number {
  const depth = 20 + Math.ceil(1000 / (z * z));
  let fraction = z;
  for (let k = depth; k > 0; k -= 1) fraction = z + k / fraction;
  return density(z) / fraction;
}

export function normalCdf(z: number): number {
  requireNumber('normalCdf', z);
  if (Math.abs(z) < 2.5) return 0.5 + centralArea(z);
  return z < 0 ? upperTail(-z) : 1 - upperTail(z);
}

/** Φ⁻¹(p); −∞ at 0 and ∞ at 1. */
export function normalQuantile(p: number): number {
  requireProbability('normalQuantile', p);
  if (p === 0) return Number.NEGATIVE_INFINITY;
  if (p > 0.5) return -normalQuantile(1 - p);
  if (p === 0.5) return 0;
  const t = Math.sqrt(-2 * Math.log(p));
  let z = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (let step = 0; step < 4; step += 1) {
    const error = (normalCdf(z) - p) / density(z);
    // Halley's correction: the second derivative of Φ is −z φ(z).
    z -= error / (1 + (z * error) / 2);
  }
  return z;
}
