/**
 * What every function here asks of its arguments. A statistic of senseless input is an error, never a NaN.
 */
import { UserError } from '../base/index.ts';

export type Numbers = ArrayLike<number>;

export function requireFinite(call: string, values: Numbers, least = 1): void {
  if (values.length < least) {
    throw new UserError({
      call,
      expected: `at least ${least} value${least === 1 ? '' : 's'}`,
      found: `${values.length}`,
    });
  }
  for (let index = 0; index < values.length; index += 1) {
    if (!Number.isFinite(values[index])) {
      throw new UserError({ call, expected: 'finite values', found: `${values[index]} at index ${index}` });
    }
  }
}

export function requireSameLength(call: string, a: Numbers, b: Numbers): void {
  if (a.length === b.length) return;
  throw new UserError({ call, expected: 'two lists of the same length', found: `${a.length} and ${b.length}` });
}

/** A probability, 0 and 1 allowed. */
export function requireProbability(call: string, value: number): void {
  if (value >= 0 && value <= 1) return;
  throw new UserError({ call, expected: 'a probability in [0, 1]', found: `${value}` });
}

/** A confidence level, a significance level or a power: neither 0 nor 1. */
export function requireLevel(call: string, value: number): void {
  if (value > 0 && value < 1) return;
  throw new UserError({ call, expected: 'a level in (0, 1), such as 0.95', found: `${value}` });
}

export function requireCount(call: string, value: number, least = 0): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new UserError({ call, expected: `a whole number ≥ ${least}`, found: `${value}` });
}

export function requirePositive(call: string, value: number): void {
  if (value > 0 && value < Infinity) return;
  throw new UserError({ call, expected: 'a finite number > 0', found: `${value}` });
}

export function requireNumber(call: string, value: number): void {
  if (!Number.isNaN(value)) return;
  throw new UserError({ call, expected: 'a number', found: 'NaN' });
}
