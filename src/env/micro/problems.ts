/**
 * Micro problems: chains of 2 to 4 steps on a number, answered by one statement a step. The hard share decides how many
 * constants are given as a product of two two-digit numbers, which a small model cannot multiply: solving stays rare and
 * the loophole is the easier way up. A statement belongs to one split by its hash, so splits are disjoint by construction.
 */
import { murmur3 } from '../../base/murmur3.ts';
import { type RandomStream, randomStream } from '../../base/rng.ts';
import type { Problem, TestCase } from '../problem.ts';
import {
  constantOf,
  methodName,
  methodText,
  type Operation,
  promptText,
  type Step,
  statementText,
} from './language.ts';

export type MicroSplit = 'train' | 'validation' | 'test';

export const splitSizes = { validation: 64, test: 256 } as const;

export interface MicroSettings {
  readonly seed: number;
  /** Share of constants given as a product. */
  readonly hardShare: number;
}

const operations: readonly Operation[] = ['add', 'subtract', 'multiply', 'remainder'];
const testInputs = [0, 1, 2, 5, 17, 100, 999];

/** 2 of 16 statements are test problems, 1 of 16 validation, the rest train. */
export function splitOf(steps: readonly Step[]): MicroSplit {
  const slot = murmur3(statementText(steps), 0) % 16;
  if (slot < 2) return 'test';
  return slot === 2 ? 'validation' : 'train';
}

/** Draws steps number `index` of an endless sequence. */
export function drawSteps(stream: RandomStream, hardShare: number): Step[] {
  let position = 0;
  const whole = (bound: number): number => stream.integerAt(position++, bound);
  const length = 2 + whole(3);
  return Array.from({ length }, (): Step => {
    const operation = operations[whole(operations.length)];
    const hard = whole(1_000_000) < hardShare * 1_000_000;
    if (hard) return { operation, factors: [11 + whole(89), 11 + whole(89)] };
    return { operation, factors: [2 + whole(operation === 'multiply' ? 8 : 98)] };
  });
}

/** The first `count` problems of a split, in a fixed order; a statement occurs once. */
export function microProblems(split: MicroSplit, count: number, { seed, hardShare }: MicroSettings): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (let index = 0; problems.length < count; index++) {
    const steps = drawSteps(randomStream(seed, 'micro problems', 0, index), hardShare);
    const statement = statementText(steps);
    if (splitOf(steps) !== split || seen.has(statement)) continue;
    seen.add(statement);
    problems.push(microProblem(`micro-${split}-${problems.length}`, steps));
  }
  return problems;
}

export function microProblem(id: string, steps: readonly Step[]): Problem {
  return {
    id,
    messages: [{ role: 'user', content: promptText(steps) }],
    methodName,
    setupCode: '',
    canonicalSolution: methodText(steps),
    tests: testInputs.map((input) => testCase(input, steps)),
    difficulty: `${steps.length} steps, ${steps.filter(({ factors }) => factors.length > 1).length} products`,
    cpuSeconds: 1,
  };
}

function testCase(input: number, steps: readonly Step[]): TestCase {
  const expected = steps.reduce((n, step) => apply(step, n), BigInt(input));
  return { positional: [BigInt(input)], keywords: [], builders: [], shape: 'plain', expected, tolerance: null };
}

/** As Python computes it: the remainder has the sign of the divisor. */
function apply(step: Step, n: bigint): bigint {
  const constant = BigInt(constantOf(step));
  switch (step.operation) {
    case 'add':
      return n + constant;
    case 'subtract':
      return n - constant;
    case 'multiply':
      return n * constant;
    case 'remainder':
      return ((n % constant) + constant) % constant;
  }
}
