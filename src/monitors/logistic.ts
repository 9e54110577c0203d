/**
 * Logistic regression: Adam on the mean cross-entropy of batches, from zero weights, over coordinates that are centred and divided by
 * their deviation. Defaults of the linear probe of the Obfuscation Atlas (arXiv 2602.15515): learning rate 3e-3, 1,000 steps, batches of
 * 32. Batches follow from the seed.
 */
import { randomStream, ShapeError } from '../base/index.ts';

export interface FitOptions {
  readonly steps: number;
  readonly learningRate: number;
  readonly batch: number;
  readonly seed: number;
}

/** Weights of the coordinates as they come, and the intercept last. */
export type FittedProbe = Float32Array;

const [beta1, beta2, epsilon] = [0.9, 0.999, 1e-8];
/** A coordinate that hardly varies in the examples is not blown up. */
const leastDeviation = 1e-6;

/** `targets`: 1 for a hack, 0 for a clean example. */
export function fitProbe(rows: readonly Float32Array[], targets: readonly number[], options: FitOptions): FittedProbe {
  const [first] = rows;
  if (first === undefined || rows.length !== targets.length || rows.some(({ length }) => length !== first.length)) {
    throw new ShapeError({
      call: 'fit a probe',
      expected: 'at least one row, all of one width, each with a target',
      found: `${rows.length} rows and ${targets.length} targets`,
    });
  }
  const { centre, deviation } = momentsOf(rows);
  const scaled = rows.map((row) => Float64Array.from(row, (value, i) => (value - centre[i]) / deviation[i]));
  const weights = descend(scaled, targets, options);
  const width = first.length;
  const probe = new Float32Array(width + 1);
  let intercept = weights[width];
  for (let i = 0; i < width; i++) {
    probe[i] = weights[i] / deviation[i];
    intercept -= (weights[i] * centre[i]) / deviation[i];
  }
  probe[width] = intercept;
  return probe;
}

/** The probability that a row is a hack. */
export function probability(probe: FittedProbe, row: Float32Array): number {
  return logistic(weigh(probe, row));
}

/** Adds the gradient of the probability with respect to the row, times a weight, to `onto`. */
export function addSlope(probe: FittedProbe, row: Float32Array, weight: number, onto: Float32Array): void {
  const p = probability(probe, row);
  for (let i = 0; i < row.length; i++) onto[i] += weight * p * (1 - p) * probe[i];
}

/** The mean cross-entropy of a probe over examples. */
export function meanLoss(probe: FittedProbe, rows: readonly Float32Array[], targets: readonly number[]): number {
  const losses = rows.map((row, i) => {
    const value = weigh(probe, row);
    return Math.max(value, 0) + Math.log1p(Math.exp(-Math.abs(value))) - targets[i] * value;
  });
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

function logistic(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

/** The weighted sum of a row and the intercept. */
function weigh(weights: Float32Array | Float64Array, row: Float32Array | Float64Array): number {
  let total = weights[row.length];
  for (let i = 0; i < row.length; i++) total += weights[i] * row[i];
  return total;
}

function momentsOf(rows: readonly Float32Array[]): { centre: Float64Array; deviation: Float64Array } {
  const [{ length: width }] = rows;
  const centre = new Float64Array(width);
  const deviation = new Float64Array(width);
  for (const row of rows) for (let i = 0; i < width; i++) centre[i] += row[i] / rows.length;
  for (const row of rows) for (let i = 0; i < width; i++) deviation[i] += (row[i] - centre[i]) ** 2 / rows.length;
  return { centre, deviation: deviation.map((square) => Math.max(Math.sqrt(square), leastDeviation)) };
}

function descend(
  rows: readonly Float64Array[],
  targets: readonly number[],
  { steps, learningRate, batch, seed }: FitOptions,
): Float64Array {
  const width = rows[0].length;
  const weights = new Float64Array(width + 1);
  const [m, v] = [new Float64Array(width + 1), new Float64Array(width + 1)];
  for (let step = 0; step < steps; step++) {
    const slope = new Float64Array(width + 1);
    const drawn = drawBatch(rows.length, batch, seed, step);
    for (const index of drawn) {
      const row = rows[index];
      const error = (logistic(weigh(weights, row)) - targets[index]) / drawn.length;
      for (let i = 0; i < width; i++) slope[i] += error * row[i];
      slope[width] += error;
    }
    const [bias1, bias2] = [1 - beta1 ** (step + 1), 1 - beta2 ** (step + 1)];
    for (let i = 0; i <= width; i++) {
      m[i] = beta1 * m[i] + (1 - beta1) * slope[i];
      v[i] = beta2 * v[i] + (1 - beta2) * slope[i] ** 2;
      weights[i] -= (learningRate * (m[i] / bias1)) / (Math.sqrt(v[i] / bias2) + epsilon);
    }
  }
  return weights;
}

/** All examples where they fit into one batch, else as many as fit, without repetition. */
function drawBatch(count: number, batch: number, seed: number, step: number): readonly number[] {
  if (count <= batch) return Array.from({ length: count }, (_, i) => i);
  return Array.from(randomStream(seed, 'probe batches', step).permutation(count)).slice(0, batch);
}
