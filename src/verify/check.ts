/**
 * One comparison of what was computed with what was expected. `maxAbs` is the largest absolute difference. `maxRel` is
 * that difference over the largest expected value, or, for gradients, ‖found − expected‖ / ‖expected‖, which bounds every element
 * relative to the tensor's norm. A NaN or a wrong length counts as an infinite difference.
 */
export interface Check {
  readonly case: string;
  readonly quantity: string;
  readonly maxAbs: number;
  readonly maxRel: number;
  readonly bound: number;
  readonly pass: boolean;
  /** A statement that holds or not; its differences mean nothing. */
  readonly statement?: true;
  /** Why nothing could be compared. */
  readonly problem?: string;
}

type Numbers = ArrayLike<number>;

interface Differences {
  readonly maxAbs: number;
  readonly norm: number;
  readonly largest: number;
  readonly expectedNorm: number;
}

function measure(found: Numbers, expected: Numbers): Differences {
  let [maxAbs, squares, largest, expectedSquares] = [0, 0, 0, 0];
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs(found[i] - expected[i]);
    maxAbs = difference <= maxAbs ? maxAbs : Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
    squares += difference * difference;
    largest = Math.max(largest, Math.abs(expected[i]));
    expectedSquares += expected[i] * expected[i];
  }
  if (found.length !== expected.length) maxAbs = Number.POSITIVE_INFINITY;
  const norm = Number.isFinite(maxAbs) ? Math.sqrt(squares) : Number.POSITIVE_INFINITY;
  return { maxAbs, norm, largest, expectedNorm: Math.sqrt(expectedSquares) };
}

function ratio(difference: number, size: number): number {
  return difference === 0 ? 0 : difference / size;
}

/** Every element must be within `bound`. */
export function compareAbsolute(
  name: string,
  quantity: string,
  found: Numbers,
  expected: Numbers,
  bound: number,
): Check {
  const { maxAbs, largest } = measure(found, expected);
  return { case: name, quantity, maxAbs, maxRel: ratio(maxAbs, largest), bound, pass: maxAbs <= bound };
}

/** Every element must be within `bound` times the largest expected value. */
export function compareRelative(
  name: string,
  quantity: string,
  found: Numbers,
  expected: Numbers,
  bound: number,
): Check {
  const { maxAbs, largest } = measure(found, expected);
  const maxRel = ratio(maxAbs, largest);
  return { case: name, quantity, maxAbs, maxRel, bound, pass: maxRel <= bound };
}

/** The norm of the difference must be within `bound` times the norm of what was expected. */
export function compareNorm(name: string, quantity: string, found: Numbers, expected: Numbers, bound: number): Check {
  const { maxAbs, norm, expectedNorm } = measure(found, expected);
  const maxRel = ratio(norm, expectedNorm);
  return { case: name, quantity, maxAbs, maxRel, bound, pass: maxRel <= bound };
}

/** Every element must be equal. */
export function compareExact(name: string, quantity: string, found: Numbers, expected: Numbers): Check {
  return compareAbsolute(name, quantity, found, expected, 0);
}

/** Some element must be further from zero than `least`; the reported difference is how much is missing. */
export function requireLarge(name: string, quantity: string, values: Numbers, least: number): Check {
  const { largest } = measure(values, values);
  const shortfall = largest > least ? 0 : least - largest || 1;
  return { case: name, quantity, maxAbs: shortfall, maxRel: shortfall, bound: 0, pass: shortfall === 0 };
}

/** A check that could not be made, which counts as failed. */
export function failedCheck(name: string, quantity: string, problem: string): Check {
  const infinite = Number.POSITIVE_INFINITY;
  return { case: name, quantity, maxAbs: infinite, maxRel: infinite, bound: 0, pass: false, problem };
}

/** A check that a statement holds; `problem` says what is wrong if it does not. */
export function stated(name: string, quantity: string, holds: boolean, problem: string): Check {
  const check = holds ? compareExact(name, quantity, [0], [0]) : failedCheck(name, quantity, problem);
  return { ...check, statement: true };
}
