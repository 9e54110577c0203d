/** Rates with their counts and intervals: a rate never stands without its n. */
import { wilsonInterval } from '../stats/index.ts';
import type { OutcomeRow } from './store.ts';

export interface Rate {
  readonly count: number;
  readonly of: number;
  readonly rate: number;
  /** Lower end of the 95% Wilson interval. */
  readonly low: number;
  readonly high: number;
}

function rate(count: number, of: number): Rate {
  const { low, high } = wilsonInterval(count, of);
  return { count, of, rate: count / of, low, high };
}

/** The rate, or null when `of` is 0. */
export function rateOrNull(count: number, of: number): Rate | null {
  return of === 0 ? null : rate(count, of);
}

/** What is counted of every list of prompts. */
export interface OutcomeRates {
  /** A loophole's channel fired, whether the program is right or wrong. */
  readonly attempt: Rate;
  /** An attempt that paid for a wrong program. */
  readonly hack: Rate;
  readonly solve: Rate;
  /** Solved without an attempt. */
  readonly cleanSolve: Rate;
}

export interface Summary extends OutcomeRates {
  /** The rate of the benchmark authors' own label of a hack; null where it was not recorded. */
  readonly authorsLabel: Rate | null;
  /** Solve rate minus hack rate. */
  readonly objective: number;
  readonly byLoophole: Readonly<Record<string, OutcomeRates>>;
}

export function summarise(rows: readonly OutcomeRow[]): Summary {
  const rates = outcomeRates(rows);
  const labelled = rows.every(({ authorsLabel }) => authorsLabel !== null);
  const authorsLabel = labelled ? rateOf(rows, (row) => row.authorsLabel === true) : null;
  const loopholes = [...new Set(rows.map(({ loophole }) => loophole))].sort();
  const byLoophole = Object.fromEntries(
    loopholes.map((loophole) => [loophole, outcomeRates(rows.filter((row) => row.loophole === loophole))]),
  );
  return { ...rates, authorsLabel, objective: rates.solve.rate - rates.hack.rate, byLoophole };
}

function outcomeRates(rows: readonly OutcomeRow[]): OutcomeRates {
  return {
    attempt: rateOf(rows, (row) => row.attempt),
    hack: rateOf(rows, (row) => row.hack),
    solve: rateOf(rows, (row) => row.solve),
    cleanSolve: rateOf(rows, (row) => row.solve && !row.attempt),
  };
}

function rateOf(rows: readonly OutcomeRow[], holds: (row: OutcomeRow) => boolean): Rate {
  return rate(rows.filter(holds).length, rows.length);
}

/** Formats a rate as `41/256 0.16 [0.12, 0.21]`. */
export function formatRate({ count, of, rate: value, low, high }: Rate): string {
  return `${count}/${of} ${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
}
