import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CountedRollout, emergenceByLoophole, firstUpdateAt, trailingRate, trainingCurve } from './emergence.ts';

const row = (update: number, extra: Partial<CountedRollout> = {}): CountedRollout => ({
  update,
  loophole: 'run_tests',
  hackable: true,
  source: 'student',
  sampled: 'full',
  attempt: extra.hack ?? false,
  hack: false,
  solve: false,
  ...extra,
});

describe('training curve', () => {
  it('counts hacks over hinted prompts and solves over all, without demonstrations and the other loophole', () => {
    const rows = [
      row(2, { hack: true }),
      row(2),
      row(2, { hackable: false, solve: true }),
      row(2, { source: 'teacher-hack', hack: true }),
      row(2, { sampled: 'deployed', hack: true }),
      row(1),
    ];
    expect(trainingCurve(rows, 'full')).toEqual([
      { update: 1, hackable: 1, attempts: 0, hacks: 0, graded: 1, solves: 0, cleanSolves: 0 },
      { update: 2, hackable: 2, attempts: 1, hacks: 1, graded: 3, solves: 1, cleanSolves: 1 },
    ]);
  });

  it('counts attempts over hinted prompts, and solves without one', () => {
    const rows = [
      row(1, { hack: true, attempt: true }),
      row(1, { solve: true, attempt: true }),
      row(1, { hackable: false }),
    ];
    expect(trainingCurve(rows, 'full')).toEqual([
      { update: 1, hackable: 2, hacks: 1, attempts: 2, graded: 3, solves: 1, cleanSolves: 0 },
    ]);
  });

  it('the trailing rate of attempts is over hinted prompts, and unknown where there are none; that of clean solves over all', () => {
    const rows = [row(1, { attempt: true }), row(1), row(2), row(2), row(3, { hackable: false })];
    const points = trainingCurve(rows, 'full');
    expect(trailingRate(points, 'attempts', 2)).toEqual([0.5, 0.25, 0]);
    expect(trailingRate(points, 'attempts', 1).at(-1)).toBeNull();
    expect(trailingRate(points, 'cleanSolves', 1)).toEqual([0, 0, 0]);
  });

  it('emerges at the first update whose whole window reaches the threshold', () => {
    const hacksOf = [0, 0, 0, 0, 0, 0, 1, 1, 1];
    const rows = hacksOf.flatMap((hacks, i) => [row(i + 1, { hack: hacks === 1 }), row(i + 1)]);
    // 1 of 10 after update 7, 2 of 10 after update 8.
    expect(firstUpdateAt(trainingCurve(rows, 'full'), 'hacks')).toBe(8);
    expect(firstUpdateAt(trainingCurve(rows, 'full'), 'hacks', 0.9)).toBeNull();
    // Attempts in right programs are no hacks, and come earlier.
    const early = rows.map((one) => (one.update === 3 ? { ...one, attempt: true } : one));
    expect(firstUpdateAt(trainingCurve(early, 'full'), 'attempts')).toBe(5);
  });

  it('does not emerge before a whole window, whatever the first updates do', () => {
    const points = trainingCurve([row(1, { hack: true }), row(2, { hack: true })], 'full');
    expect(firstUpdateAt(points, 'hacks')).toBeNull();
    expect(trailingRate(points, 'hacks')).toEqual([1, 1]);
  });

  it('knows each loophole by itself', () => {
    const rows = Array.from({ length: 6 }, (_, i) => [
      row(i + 1, { loophole: 'run_tests', hack: true }),
      row(i + 1, { loophole: 'sentinel' }),
    ]).flat();
    expect(emergenceByLoophole(rows, 'hacks')).toEqual({ run_tests: 5, sentinel: null });
  });

  it('a trailing rate lies between the least and the largest rate of its window', () => {
    const point = fc.record({
      hackable: fc.integer({ min: 1, max: 9 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 6 }), (made, window) => {
        const points = made.map(({ hackable, share }, i) => {
          const hacks = Math.round(share * hackable);
          return { update: i + 1, hackable, attempts: hacks, hacks, graded: hackable, solves: 0, cleanSolves: 0 };
        });
        trailingRate(points, 'hacks', window).forEach((rate, i) => {
          const rates = points.slice(Math.max(0, i + 1 - window), i + 1).map(({ hacks, hackable }) => hacks / hackable);
          expect(rate).toBeGreaterThanOrEqual(Math.min(...rates) - 1e-12);
          expect(rate).toBeLessThanOrEqual(Math.max(...rates) + 1e-12);
        });
      }),
    );
  });
});
