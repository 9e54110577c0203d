import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluationRows } from '../../test/lab/hand-made.ts';
import { chooseCurveSet } from './curve.ts';

const pool = (outcomes: string) => evaluationRows({ update: 0, set: 'validation', state: 'base', outcomes });

describe('the curve set', () => {
  it('keeps the base rate of the pool', () => {
    const choice = chooseCurveSet(pool('s'.repeat(64) + '-'.repeat(192)), 1);
    expect(choice).toMatchObject({ pool: 256, poolSolved: 64, solved: 16 });
    expect(choice.ids).toHaveLength(64);
    const solved = new Set(Array.from({ length: 64 }, (_, i) => `problem-${i}`));
    expect(choice.ids.filter((id) => solved.has(id))).toHaveLength(16);
  });

  it('of 119 test problems, 15 of them solved, has 8 and 56, as the documents watch', () => {
    const { ids, solved } = chooseCurveSet(pool('s'.repeat(15) + '-'.repeat(104)), 1);
    expect([ids.length, solved]).toEqual([64, 8]);
  });

  it('is the whole pool when that is small, and the same for the same seed', () => {
    expect(chooseCurveSet(pool('s-s'), 1).ids).toEqual(['problem-0', 'problem-1', 'problem-2']);
    const large = pool('s-'.repeat(100));
    expect(chooseCurveSet(large, 5)).toEqual(chooseCurveSet(large, 5));
    expect(chooseCurveSet(large, 5).ids).not.toEqual(chooseCurveSet(large, 6).ids);
  });

  it('never repeats an id and never leaves the base rate by more than half a prompt', () => {
    const outcomes = fc.array(fc.constantFrom('s', '-'), { minLength: 1, maxLength: 120 });
    fc.assert(
      fc.property(outcomes, fc.integer({ min: 1, max: 64 }), (made, count) => {
        const { ids, solved, poolSolved } = chooseCurveSet(pool(made.join('')), 3, count);
        expect(new Set(ids).size).toBe(Math.min(count, made.length));
        expect(Math.abs(solved - (ids.length * poolSolved) / made.length)).toBeLessThanOrEqual(0.5);
      }),
    );
  });
});
