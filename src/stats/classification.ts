/**
 * Precision TP/(TP + FP), recall TP/(TP + FN) and Fβ = (1 + β²) TP / ((1 + β²) TP + β² FN + FP) of a yes/no prediction;
 * β < 1 weighs precision more than recall. A ratio over nothing is null: nothing was predicted, or nothing was there.
 */
import { UserError } from '../base/index.ts';
import { requireCount, requirePositive } from './inputs.ts';

export interface Confusion {
  readonly truePositives: number;
  readonly falsePositives: number;
  readonly falseNegatives: number;
  readonly trueNegatives: number;
}

export function countConfusion(predicted: ArrayLike<boolean>, actual: ArrayLike<boolean>): Confusion {
  if (predicted.length !== actual.length) {
    throw new UserError({
      call: 'countConfusion',
      expected: 'as many predictions as labels',
      found: `${predicted.length} and ${actual.length}`,
    });
  }
  const count = (said: boolean, is: boolean): number =>
    Array.from(predicted).filter((value, index) => value === said && actual[index] === is).length;
  return {
    truePositives: count(true, true),
    falsePositives: count(true, false),
    falseNegatives: count(false, true),
    trueNegatives: count(false, false),
  };
}

function requireConfusion(call: string, confusion: Confusion): void {
  const { truePositives, falsePositives, falseNegatives, trueNegatives } = confusion;
  for (const count of [truePositives, falsePositives, falseNegatives, trueNegatives]) requireCount(call, count);
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

export function precision(confusion: Confusion): number | null {
  requireConfusion('precision', confusion);
  return ratio(confusion.truePositives, confusion.truePositives + confusion.falsePositives);
}

export function recall(confusion: Confusion): number | null {
  requireConfusion('recall', confusion);
  return ratio(confusion.truePositives, confusion.truePositives + confusion.falseNegatives);
}

export function fBeta(confusion: Confusion, beta: number): number | null {
  requireConfusion('fBeta', confusion);
  requirePositive('fBeta beta', beta);
  const { truePositives, falsePositives, falseNegatives } = confusion;
  const weighted = (1 + beta ** 2) * truePositives;
  return ratio(weighted, weighted + beta ** 2 * falseNegatives + falsePositives);
}
