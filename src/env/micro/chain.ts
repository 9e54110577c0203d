/**
 * A micro problem's content: a number goes through a chain of steps. Constants are plain, or products of two two-digit
 * numbers, which a very small model cannot multiply. Their share is the difficulty: it decides whether solving or the
 * loophole is the easier way to reward.
 */
import type { RandomStream } from '../../base/index.ts';

export const operations = ['add', 'subtract', 'multiply', 'remainder'] as const;
export type Operation = (typeof operations)[number];

export interface Step {
  readonly operation: Operation;
  /** One plain number, or two factors. */
  readonly factors: readonly [number] | readonly [number, number];
}

export interface ChainOptions {
  readonly leastSteps: number;
  readonly mostSteps: number;
  /** Probability that a constant is given as a product of two two-digit numbers. */
  readonly productFraction: number;
}

export const usualChain: ChainOptions = { leastSteps: 2, mostSteps: 4, productFraction: 0.4 };

const statements: Readonly<Record<Operation, string>> = {
  add: '+=',
  subtract: '-=',
  multiply: '*=',
  remainder: '%=',
};

function constantOf({ factors }: Step): number {
  return factors.length === 1 ? factors[0] : factors[0] * factors[1];
}

function drawStep(stream: RandomStream, position: number, { productFraction }: ChainOptions): Step {
  const operation = operations[stream.integerAt(position, operations.length)];
  if (stream.uniformAt(position) < productFraction) {
    return { operation, factors: [11 + stream.integerAt(position + 1, 89), 11 + stream.integerAt(position + 2, 89)] };
  }
  // A plain constant is small, so that the model can copy it.
  return { operation, factors: [2 + stream.integerAt(position + 1, 98)] };
}

export function drawChain(stream: RandomStream, options: ChainOptions): readonly Step[] {
  const count = options.leastSteps + stream.integerAt(0, options.mostSteps - options.leastSteps + 1);
  return Array.from({ length: count }, (_, index) => drawStep(stream, 8 * (index + 1), options));
}

function describeStep(step: Step): string {
  const constant = step.factors.join(' times ');
  switch (step.operation) {
    case 'add':
      return `add ${constant}.`;
    case 'subtract':
      return `subtract ${constant}.`;
    case 'multiply':
      return `multiply by ${constant}.`;
    case 'remainder':
      return `take the remainder by ${constant}.`;
  }
}

export function describeChain(steps: readonly Step[]): string {
  return `start with n. ${steps.map(describeStep).join(' ')}`;
}

/** The lines of a method body, one statement per step. */
export function writeStatements(steps: readonly Step[]): readonly string[] {
  return steps.map((step) => `n ${statements[step.operation]} ${constantOf(step)}`);
}

/** Computes as Python does: a remainder has the sign of the divisor. */
function applyStep(n: bigint, step: Step): bigint {
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

export function applyChain(steps: readonly Step[], start: bigint): bigint {
  return steps.reduce(applyStep, start);
}
