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
  readonly problem?: string;
}

type Numbers = ArrayLike<number>;

export class Checks {
  readonly list: Check[] = [];
  readonly #case: string;

  constructor(name: string) {
    this.#case = name;
  }

  absolute(quantity: string, found: Numbers, expected: Numbers, bound: number): Check {
    const { maxAbs, largest } = measure(found, expected);
    return this.#add({ quantity, maxAbs, maxRel: ratio(maxAbs, largest), bound, pass: maxAbs <= bound });
  }

  relative(quantity: string, found: Numbers, expected: Numbers, bound: number): Check {
    const { maxAbs, largest } = measure(found, expected);
    const maxRel = ratio(maxAbs, largest);
    return this.#add({ quantity, maxAbs, maxRel, bound, pass: maxRel <= bound });
  }

  norm(quantity: string, found: Numbers, expected: Numbers, bound: number): Check {
    const { maxAbs, norm, expectedNorm } = measure(found, expected);
    const maxRel = ratio(norm, expectedNorm);
    return this.#add({ quantity, maxAbs, maxRel, bound, pass: maxRel <= bound });
  }

  exact(quantity: string, found: Numbers, expected: Numbers): Check {
    return this.absolute(quantity, found, expected, 0);
  }

  /** Some element must be further from zero than `least`; the reported difference is how much is missing. */
  large(quantity: string, values: Numbers, least: number): Check {
    const { largest } = measure(values, values);
    const shortfall = largest > least ? 0 : least - largest || 1;
    return this.#add({ quantity, maxAbs: shortfall, maxRel: shortfall, bound: 0, pass: shortfall === 0 });
  }

  states(quantity: string, holds: boolean, problem: string): Check {
    const difference = holds ? 0 : Number.POSITIVE_INFINITY;
    const differences = { maxAbs: difference, maxRel: difference, bound: 0, pass: holds, statement: true as const };
    return this.#add({ quantity, ...differences, ...(holds ? {} : { problem }) });
  }

  none(quantity: string, names: readonly string[]): Check {
    return this.states(quantity, names.length === 0, names.join(', '));
  }

  fails(quantity: string, problem: string): Check {
    const infinite = Number.POSITIVE_INFINITY;
    return this.#add({ quantity, maxAbs: infinite, maxRel: infinite, bound: 0, pass: false, problem });
  }

  #add(check: Omit<Check, 'case'>): Check {
    const made = { case: this.#case, ...check };
    this.list.push(made);
    return made;
  }
}

function measure(found: Numbers, expected: Numbers) {
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

const ratio = (difference: number, size: number): number => (difference === 0 ? 0 : difference / size);
