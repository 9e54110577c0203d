/**
 * Compares what a program gave back, as bytes, with what a test expects. Programs choose those bytes, so the answer comes in
 * bounded time: bytes that are the expected ones are right at once, bytes longer than any equal value can have are wrong at
 * once, and what is left is decoded only up to a size. The limits are sizes and not times, so that a program has the
 * same verdict on a busy machine. Whatever cannot be decoded or compared is a wrong value, never an error of the grader.
 */
import { decodeMarshal, encodeMarshal, largestEqualEncoding } from './marshal.ts';
import type { TestCase } from './problem.ts';
import { equalPython, type PythonValue } from './python-value.ts';
import { expectedForm } from './shapes.ts';

export interface Expected {
  /** The expected value in the form in which a program's value arrives. */
  readonly value: PythonValue;
  readonly tolerance: number | null;
  readonly isSame: boolean;
  readonly bytes: Buffer;
  /** The most bytes that a right value can have. */
  readonly largestBytes: number;
}

/** What one comparison may decode: about 100 ms of CPU at the slowest, which are sets of small items. */
const mostComparedBytes = 1 << 20;
/** What all comparisons of one program together may decode. */
const mostComparedBytesInAll = 4 << 20;
/** The largest int that Python can take from a float has 1024 bits, and so 69 digits of two bytes. */
const largestFloatAsIntBytes = 5 + 2 * 69;

export function prepareExpected(test: TestCase): Expected {
  const value = expectedForm(test);
  const largestBytes = largestEqualEncoding(value);
  const { tolerance, isSame = false } = test;
  return {
    value,
    tolerance,
    isSame,
    bytes: encodeMarshal(value),
    // A number close to the expected one may have one digit more.
    largestBytes: tolerance === null ? largestBytes : Math.max(largestBytes + 2, largestFloatAsIntBytes),
  };
}

/** abs(a - b) as Python computes it: exact between ints. NaN where one of them is not a number. */
function distance(a: PythonValue, b: PythonValue): number {
  const [left, right] = [a, b].map((value) => (typeof value === 'boolean' ? BigInt(value) : value));
  if (typeof left === 'bigint' && typeof right === 'bigint') return Math.abs(Number(left - right));
  const isNumber = (value: PythonValue) => typeof value === 'bigint' || typeof value === 'number';
  return isNumber(left) && isNumber(right) ? Math.abs(Number(left) - Number(right)) : Number.NaN;
}

/** The comparisons of one program. */
export class Comparer {
  #leftBytes = mostComparedBytesInAll;

  /** Why the value is wrong; empty when it is right. */
  wrongness(
    payload: Buffer,
    { value, tolerance, isSame, bytes, largestBytes }: Expected,
  ): '' | 'wrong value' | 'too large to compare' {
    if (tolerance === null && payload.equals(bytes)) return '';
    if (isSame || payload.length > largestBytes) return 'wrong value';
    this.#leftBytes -= payload.length;
    if (payload.length > mostComparedBytes || this.#leftBytes < 0) return 'too large to compare';
    try {
      const given = decodeMarshal(payload);
      const isRight = tolerance === null ? equalPython(given, value) : distance(given, value) <= tolerance;
      return isRight ? '' : 'wrong value';
    } catch {
      // The decoder refuses what Python would not have written. A program must not be able to end the grader by any error.
      return 'wrong value';
    }
  }
}
