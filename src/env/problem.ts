/**
 * A problem, in the one form that the lab uses wherever it was imported from. Expected values are kept here, on the
 * trusted side, and nowhere else.
 */
import type { PythonValue } from './python-value.ts';
import type { Call } from './sandbox/frames.ts';

export interface Message {
  readonly role: 'system' | 'user';
  readonly content: string;
}

export interface TestCase extends Call {
  readonly expected: PythonValue;
  /** Largest difference from the expected number that still passes; null: the result must be equal. */
  readonly tolerance: number | null;
}

export interface Problem {
  readonly id: string;
  readonly messages: readonly Message[];
  readonly methodName: string;
  readonly setupCode: string;
  readonly canonicalSolution: string;
  readonly tests: readonly TestCase[];
  readonly difficulty: string;
  /** CPU seconds one program may use; null until the canonical solution has been timed. */
  readonly cpuSeconds: number | null;
}

/** CPU budget of a problem: five times the CPU time of the canonical solution, between 1 and 20 seconds. */
export function budgetSeconds(canonicalCpuMs: number): number {
  return Math.min(20, Math.max(1, Math.ceil((5 * canonicalCpuMs) / 1000)));
}
