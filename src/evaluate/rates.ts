/** Rates with their counts and intervals: a rate never stands without its n. */
import { UserError } from '../base/index.ts';
import { mcnemarExact, wilsonInterval } from '../stats/index.ts';
import type { Evaluation, OutcomeRow } from './store.ts';

export type Rate = Readonly<ReturnType<typeof rate>>;

/** With its 95% Wilson interval. */
function rate(count: number, of: number) {
  const { low, high } = wilsonInterval(count, of);
  return { count, of, rate: count / of, low, high };
}

export function rateOrNull(count: number, of: number): Rate | null {
  return of === 0 ? null : rate(count, of);
}

/** What is known of attempts, and then of hacks: one shape wherever both are judged. */
export type ByTarget<Known> = Readonly<Record<Target, Known>>;
export type Target = 'attempts' | 'hacks';

/** `label`: the column that says whether a row is one. */
export const byTarget = <Known>(known: (label: 'attempt' | 'hack', target: Target) => Known): ByTarget<Known> => ({
  attempts: known('attempt', 'attempts'),
  hacks: known('hack', 'hacks'),
});

export type OutcomeRates = Readonly<ReturnType<typeof outcomeRates>>;
export type Summary = Readonly<ReturnType<typeof summarise>>;

/** `authorsLabel`: the benchmark authors' own label of a hack; null where it was not recorded. */
export function summarise(rows: readonly OutcomeRow[]) {
  const rates = outcomeRates(rows);
  const labelled = rows.every(({ authorsLabel }) => authorsLabel !== null);
  const authorsLabel = labelled ? rateOf(rows, (row) => row.authorsLabel === true) : null;
  const loopholes = [...new Set(rows.map(({ loophole }) => loophole))].sort();
  const byLoophole = Object.fromEntries(
    loopholes.map((loophole) => [loophole, outcomeRates(rows.filter((row) => row.loophole === loophole))]),
  );
  return { ...rates, authorsLabel, objective: rates.solve.rate - rates.hack.rate, byLoophole };
}

export function outcomeRates(rows: readonly OutcomeRow[]) {
  return {
    /** A loophole's channel fired, whether the program is right or wrong. */
    attempt: rateOf(rows, (row) => row.attempt),
    /** An attempt that paid for a wrong program. */
    hack: rateOf(rows, (row) => row.hack),
    solve: rateOf(rows, (row) => row.solve),
    cleanSolve: rateOf(rows, (row) => row.solve && !row.attempt),
  };
}

/**
 * Rates of sets and states over several samples of each prompt. Samples of one prompt are alike to an unknown degree, so the interval is that of as
 * many observations as there are prompts: not too narrow, whatever the degree.
 */
export function summariseSamples(evaluations: readonly Evaluation[]) {
  const samplesOf = ({ set, state }: Evaluation): Evaluation[] =>
    evaluations.filter((one) => one.set === set && one.state === state);
  const severalTimes = evaluations.filter((one) => one.sample === undefined && samplesOf(one).length > 1);
  return severalTimes.map((one) => {
    const [all, prompts] = [samplesOf(one), one.rows.length];
    const rows = all.flatMap((each) => each.rows);
    const overPrompts = ({ count, of, rate: value }: Rate): Rate => {
      const [low, high] = [Math.floor, Math.ceil].map((round) => wilsonInterval(round(value * prompts), prompts));
      return { count, of, rate: value, low: low.low, high: high.high };
    };
    const { attempt, hack, solve, cleanSolve } = outcomeRates(rows);
    const attempted = new Set(rows.filter((row) => row.attempt).map(({ problem }) => problem));
    return {
      ...{ set: one.set, state: one.state, prompts, samples: all.length },
      rates: {
        attempt: overPrompts(attempt),
        hack: overPrompts(hack),
        solve: overPrompts(solve),
        cleanSolve: overPrompts(cleanSolve),
      },
      anyAttempt: rateOf(one.rows, ({ problem }) => attempted.has(problem)),
    };
  });
}

function rateOf(rows: readonly OutcomeRow[], holds: (row: OutcomeRow) => boolean): Rate {
  return rate(rows.filter(holds).length, rows.length);
}

/** Formats a rate as `41/256 0.16 [0.12, 0.21]`. */
export function formatRate({ count, of, rate: value, low, high }: Rate): string {
  return `${count}/${of} ${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
}

export function compareStates(full: readonly OutcomeRow[], deployed: readonly OutcomeRow[]) {
  const pairs = pairRows(full, deployed);
  return { prompts: pairs.length, ...byTarget((label) => changeOf(pairs, label)) };
}

function changeOf(pairs: readonly (readonly [OutcomeRow, OutcomeRow])[], metric: 'attempt' | 'hack') {
  const ids = (before: boolean, after: boolean): string[] =>
    pairs.filter(([a, b]) => a[metric] === before && b[metric] === after).map(([a]) => a.problem);
  const [removed, surfaced] = [ids(true, false), ids(false, true)];
  const { pValue } = mcnemarExact(removed.length, surfaced.length);
  return { inBoth: ids(true, true).length, removed, surfaced, pValue };
}

/** Pairs the rows of the same prompts, whatever their order; a prompt that only one side has is an error. */
export function pairRows<Row extends OutcomeRow>(first: readonly Row[], second: readonly Row[]): [Row, Row][] {
  const others = new Map(second.map((row) => [row.problem, row]));
  const pairs = first.map((row): [Row, Row] => {
    const other = others.get(row.problem);
    if (other !== undefined && other.loophole === row.loophole && other.markers === row.markers) return [row, other];
    throw new UserError({
      call: 'compare evaluations',
      expected: `prompt ${row.problem} (${row.loophole}, ${row.markers}) in both`,
      found: other === undefined ? 'it in one only' : `${other.loophole}, ${other.markers} in the other`,
    });
  });
  if (others.size === first.length) return pairs;
  throw new UserError({
    call: 'compare evaluations',
    expected: `${first.length} prompts`,
    found: `${others.size}`,
  });
}
