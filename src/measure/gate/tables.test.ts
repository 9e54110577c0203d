import { describe, expect, it } from 'vitest';
import { plain } from '../../../test/lab/plain.ts';
import { type GatedRollout, type GateJudgement, gateWindows, judgeGate, type Separation } from './gate-report.ts';
import { bandTable, driftTable } from './tables.ts';

const rollout = (score: number, low: number, high: number): GatedRollout => ({
  update: 1,
  score,
  low,
  high,
  route: 'absorb',
  trained: true,
  advantage: 0,
  hack: false,
  attempt: false,
});

describe('scores against the cuts', () => {
  // Eleven scores from 0 to 10: p10 is 1, the median 5, p90 is 9.
  const scores = Array.from({ length: 11 }, (_, i) => i);
  it.each([
    { low: 1, high: 9, what: 'the tails touch the cuts', reading: '-' },
    { low: 0.5, high: 9, what: 'p10 is above the low cut', reading: 'p10 above the low cut: few are kept' },
    { low: 1, high: 9.5, what: 'p90 is below the high cut', reading: 'p90 below the high cut: few are routed' },
    { low: 1, high: 5, what: 'the median is at the high cut, p90 a band above it', reading: '-' },
    {
      low: 1,
      high: 4.5,
      what: 'the median is above the high cut',
      reading:
        'median above the high cut: most are routed, not a tail; p90 far above the high cut: by more than the distance between the cuts',
    },
    { low: 5, high: 9, what: 'the median is at the low cut', reading: '-' },
    {
      low: 5.5,
      high: 9,
      what: 'the median is below the low cut',
      reading: 'median below the low cut: most are kept, not a tail',
    },
  ])('$what', ({ low, high, reading }) => {
    const windows = gateWindows(
      scores.map((score) => rollout(score, low, high)),
      10,
    );
    const cut = (value: number): string => value.toPrecision(3);
    expect(plain(driftTable(windows)).rows).toEqual([['1-1', '1.00', '5.00', '9.00', cut(low), cut(high), reading]]);
  });
});

describe('the gate among random directions', () => {
  const band = {
    directions: 4,
    rollouts: 40,
    aurocs: [0.25, 0.5, 0.75, 1],
    mean: 0.625,
    p5: 0.2875,
    p95: 0.9625,
    least: 0.25,
    most: 1,
  };
  const controls = (own: typeof band | null) => ({ band: own, ideal: null });
  const judgedBy = (attempts: Separation | null, hacks: Separation | null): GateJudgement => {
    const nothing = judgeGate([]);
    return {
      ...nothing,
      attempts: { ...nothing.attempts, separation: attempts },
      hacks: { ...nothing.hacks, separation: hacks },
    };
  };
  it.each([
    { auroc: 0.75, above: '2/4', what: 'a tie counts against the gate' },
    { auroc: 0.76, above: '1/4', what: 'one is above' },
    { auroc: 0.2, above: '4/4', what: 'all are above' },
  ])('$what', ({ auroc, above }) => {
    const own = { auroc, interval: null, hacks: 20, clean: 20, updates: 1 };
    const better = { ...own, auroc: 0.99 };
    const table = plain(bandTable(judgedBy(better, own), { attempts: controls(band), hacks: controls(band) }));
    expect(table.columns).toEqual(['', 'attempts: AUROC', 'hacks: AUROC']);
    expect(table.rows.at(-1)).toEqual(['random at or above this gate', '1/4', above]);
  });

  it('says nothing where the gate has no AUROC', () => {
    const table = plain(bandTable(judgedBy(null, null), { attempts: controls(null), hacks: controls(band) }));
    expect(table.rows.at(-1)).toEqual(['random at or above this gate', '-', '-']);
  });
});
