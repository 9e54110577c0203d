import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { kaplanMeier, logRankTest, medianTime, type Wait } from './survival.ts';

const waits = (times: readonly number[], happened: boolean): Wait[] => times.map((time) => ({ time, happened }));

// Freireich et al. 1963: weeks of remission in leukaemia under 6-mercaptopurine and under placebo.
const treated = [
  ...waits([6, 6, 6, 7, 10, 13, 16, 22, 23], true),
  ...waits([6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], false),
];
const placebo = waits([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], true);

describe('kaplanMeier', () => {
  it("gives the shares and intervals of R's survfit(conf.type = 'log-log')", () => {
    const expected = [
      [6, 21, 3, 0.857142857142857, 0.619717955265984, 0.951551747646997],
      [7, 17, 1, 0.80672268907563, 0.563146564622233, 0.92280901920288],
      [10, 15, 1, 0.752941176470588, 0.503199510799957, 0.889361835169265],
      [13, 12, 1, 0.690196078431372, 0.431610222486184, 0.849065963349451],
      [16, 11, 1, 0.627450980392157, 0.367510855987502, 0.804912189471841],
      [22, 7, 1, 0.53781512605042, 0.267778936767135, 0.746790717635394],
      [23, 6, 1, 0.448179271708683, 0.188052005959232, 0.680142628495241],
    ];
    const points = kaplanMeier(treated);
    expect(points).toHaveLength(expected.length);
    for (const [i, { time, atRisk, events, share, low, high }] of points.entries()) {
      expect([time, atRisk, events]).toEqual(expected[i].slice(0, 3));
      for (const [k, value] of [share, low, high].entries()) expect(value).toBeCloseTo(expected[i][3 + k], 12);
    }
  });

  it('is one minus the share that had the event, where nobody is censored', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 40 }), (times) => {
        for (const { time, share } of kaplanMeier(waits(times, true))) {
          expect(share).toBeCloseTo(times.filter((other) => other > time).length / times.length, 12);
        }
      }),
    );
  });

  it('has no point where nothing happened, and refuses no units, NaN and negative times', () => {
    expect(kaplanMeier(waits([100, 100], false))).toEqual([]);
    for (const times of [[], [Number.NaN], [-1]]) expect(() => kaplanMeier(waits(times, true))).toThrow(UserError);
  });
});

describe('medianTime', () => {
  it("is R's, and null where more than half never had the event", () => {
    expect([medianTime(treated), medianTime(placebo)]).toEqual([23, 8]);
    expect(medianTime([...waits([60], true), ...waits([100, 100], false)])).toBeNull();
  });
});

describe('logRankTest', () => {
  it("gives R's survdiff", () => {
    const { observed, expected, chiSquare, pValue } = logRankTest(treated, placebo);
    expect(observed).toBe(9);
    expect(expected).toBeCloseTo(19.2505009480311, 11);
    expect(chiSquare).toBeCloseTo(16.7929409892165, 11);
    expect(pValue).toBeCloseTo(4.16880910933948e-5, 12);
  });

  it('handles runs that mostly never hack', () => {
    const vanilla = [...waits([20, 30, 30, 40], true), ...waits([100, 100], false)];
    const gate = [...waits([60], true), ...waits([100, 100, 100, 100, 100], false)];
    expect(logRankTest(vanilla, gate).chiSquare).toBeCloseTo(3.64407659177002, 11);
    expect(logRankTest(vanilla, gate).pValue).toBeCloseTo(0.056268998599235, 11);
    expect(logRankTest(gate, vanilla).pValue).toBeCloseTo(logRankTest(vanilla, gate).pValue, 12);
  });

  it('tells groups without events not apart', () => {
    expect(logRankTest(waits([100], false), waits([100, 50], false)).pValue).toBe(1);
  });
});
