/**
 * Times until something happens, where some units end before it did (censored): the share that is still without it, S(t) = Π (1 − d/n)
 * over the times of events up to t, with d events among n at risk (Kaplan and Meier 1958), its interval on the scale of log(−log S)
 * (Kalbfleisch and Prentice 1980), and the log-rank test of two groups (Mantel 1966). As R's survival package gives them.
 */
import { UserError } from '../base/index.ts';
import { requireFinite, requireLevel } from './inputs.ts';
import { normalCdf, normalQuantile } from './normal.ts';
import type { Interval } from './summary.ts';

/** `happened` false: the unit was watched until `time`, and nothing had happened. */
export interface Wait {
  readonly time: number;
  readonly happened: boolean;
}

export interface SurvivalPoint extends Interval {
  readonly time: number;
  readonly atRisk: number;
  readonly events: number;
  /** The share without an event after this time. */
  readonly share: number;
}

/** A point at each time with an event, in order. */
export function kaplanMeier(units: readonly Wait[], confidence = 0.95): readonly SurvivalPoint[] {
  requireLevel('kaplanMeier', confidence);
  requireTimes('kaplanMeier', units);
  const z = normalQuantile((1 + confidence) / 2);
  let share = 1;
  let greenwood = 0;
  return eventTimes(units).map((time) => {
    const atRisk = countAtRisk(units, time);
    const events = countEvents(units, time);
    share *= 1 - events / atRisk;
    greenwood += events / (atRisk * (atRisk - events));
    return { time, atRisk, events, share, ...logLogInterval(share, greenwood, z) };
  });
}

/** S^exp(±z σ), where σ is the standard error of log(−log S). Nothing is known of it once nobody is left. */
function logLogInterval(share: number, greenwood: number, z: number): Interval {
  if (share === 0) return { low: 0, high: 0 };
  const width = (z * Math.sqrt(greenwood)) / Math.abs(Math.log(share));
  return { low: share ** Math.exp(width), high: share ** Math.exp(-width) };
}

/** The first time at which at most half are without an event; null where more than half never had one. */
export function medianTime(units: readonly Wait[]): number | null {
  return kaplanMeier(units).find(({ share }) => share <= 0.5)?.time ?? null;
}

export interface LogRankTest {
  /** Events of the first group, and those expected if both groups waited alike. */
  readonly observed: number;
  readonly expected: number;
  readonly chiSquare: number;
  readonly pValue: number;
}

/** Two-sided. Groups without any event between them are not told apart: the p-value is 1. */
export function logRankTest(first: readonly Wait[], second: readonly Wait[]): LogRankTest {
  requireTimes('logRankTest', first);
  requireTimes('logRankTest', second);
  const all = [...first, ...second];
  let [observed, expected, spread] = [0, 0, 0];
  for (const time of eventTimes(all)) {
    const [n, ours] = [countAtRisk(all, time), countAtRisk(first, time)];
    const events = countEvents(all, time);
    observed += countEvents(first, time);
    expected += (events * ours) / n;
    if (n > 1) spread += (events * (ours / n) * (1 - ours / n) * (n - events)) / (n - 1);
  }
  const chiSquare = spread === 0 ? 0 : (observed - expected) ** 2 / spread;
  return { observed, expected, chiSquare, pValue: Math.min(1, 2 * normalCdf(-Math.sqrt(chiSquare))) };
}

function requireTimes(call: string, units: readonly Wait[]): void {
  const times = units.map(({ time }) => time);
  requireFinite(call, times);
  const negative = times.find((time) => time < 0);
  if (negative === undefined) return;
  throw new UserError({ call, expected: 'times of at least 0', found: `${negative}` });
}

function eventTimes(units: readonly Wait[]): number[] {
  return [...new Set(units.filter(({ happened }) => happened).map(({ time }) => time))].sort((a, b) => a - b);
}

/** Those whose time is not over before this one; a unit that is censored at a time was at risk at it. */
function countAtRisk(units: readonly Wait[], time: number): number {
  return units.filter((unit) => unit.time >= time).length;
}

function countEvents(units: readonly Wait[], time: number): number {
  return units.filter((unit) => unit.happened && unit.time === time).length;
}
