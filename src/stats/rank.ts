/**
 * Ranks from 1, equal values sharing the average of their ranks.
 */
import { type Numbers, requireFinite } from './inputs.ts';

export function rankAverage(values: Numbers): number[] {
  requireFinite('rankAverage', values, 0);
  const order = Array.from(values, (_, index) => index).sort((a, b) => values[a] - values[b]);
  const ranks = new Array<number>(values.length);
  for (let start = 0; start < order.length; ) {
    let end = start + 1;
    while (end < order.length && values[order[end]] === values[order[start]]) end += 1;
    for (let at = start; at < end; at += 1) ranks[order[at]] = (start + 1 + end) / 2;
    start = end;
  }
  return ranks;
}
