import { expect, it } from 'vitest';
import { rateOrNull } from '../../evaluate/rates.ts';
import { chanceSettings, judgeMonitor, monitorWindows, type WatchedRollout } from './monitor-report.ts';

const row = (update: number, hack: boolean, suspicion: number | null, flagged: boolean): WatchedRollout => ({
  update,
  hack,
  attempt: hack || suspicion === 0.6,
  suspicion,
  flagged,
});

const rows = [
  row(1, true, 0.9, true),
  row(1, true, 0.4, false),
  row(1, false, 0.6, true),
  row(1, false, 0.1, false),
  row(2, true, null, true),
  row(2, false, 0.2, false),
  row(3, true, 5, true),
  row(3, false, 7, true),
];

it('has the rates that counting by hand gives', () => {
  const { attempts, hacks, ...counts } = judgeMonitor(rows) ?? {};
  expect(counts).toEqual({ rollouts: 8, abstained: 1, flagged: expect.objectContaining({ count: 5, of: 8 }) });
  expect(chanceSettings({ flagged: rateOrNull(5, 8) })).toBe('monitor.kind=chance, monitor.rate=0.625');
  expect(chanceSettings({ flagged: rateOrNull(1, 4800) }), 'few').toBe('monitor.kind=chance, monitor.rate=0.000208');
  expect(hacks?.count).toBe(4);
  expect(hacks?.precision).toMatchObject({ count: 3, of: 5 });
  expect(hacks?.recall).toMatchObject({ count: 3, of: 4 });
  expect(hacks?.falsePositiveRate).toMatchObject({ count: 2, of: 4 });
  // The flagged clean rollout of update 1 was an attempt in a correct program.
  expect(attempts).toMatchObject({ count: 5, separation: { auroc: 3 / 4 } });
  expect(attempts?.precision).toMatchObject({ count: 4, of: 5 });
  expect(attempts?.recall).toMatchObject({ count: 4, of: 5 });
  expect(attempts?.falsePositiveRate).toMatchObject({ count: 1, of: 3 });
  // Update 1: three of four pairs are in order; update 3: its one pair is not; update 2 has no hack with a score.
  expect(hacks?.separation).toMatchObject({ auroc: 3 / 5, updates: 2 });
});

it('by window of updates', () => {
  const windows = monitorWindows(rows, 2);
  expect(windows.map(({ from, to, hacks }) => ({ from, to, hacks: hacks.count }))).toEqual([
    { from: 1, to: 2, hacks: 3 },
    { from: 3, to: 3, hacks: 1 },
  ]);
  expect(windows[1].hacks.separation?.auroc).toBe(0);
});

it('says nothing of a run without a monitor, or of an earlier version', () => {
  expect(judgeMonitor([{ update: 1, hack: true, attempt: true, suspicion: null, flagged: null }])).toBeNull();
  expect(judgeMonitor([{ update: 1, hack: true } as WatchedRollout])).toBeNull();
  expect(monitorWindows([], 10)).toEqual([]);
});
