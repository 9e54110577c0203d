/**
 * A problem: the one form that everything after the border uses, wherever it came from. Expected values live here, on
 * the trusted side, and nowhere else.
 */
import type { PythonValue } from './python-value.ts';
import type { Call } from './sandbox/frames.ts';

export interface Message {
  readonly role: 'system' | 'user';
  readonly content: string;
}

export interface TestCase extends Call {
  readonly expected: PythonValue;
  /** Set for `abs(result − expected) < tolerance`; null for ==. */
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

/** CPU budget from the CPU time of the canonical solution: five times, between 1 and 20 seconds. */
export function budgetSeconds(canonicalCpuMs: number): number {
  return Math.min(20, Math.max(1, Math.ceil((5 * canonicalCpuMs) / 1000)));
}
