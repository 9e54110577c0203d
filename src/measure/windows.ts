/** Training in windows of so many updates. */
import { groupBy } from '../base/index.ts';

export interface UpdateWindow {
  /** First update of the window; `to` is the last that has rows. */
  readonly from: number;
  readonly to: number;
}

/** The windows that have rows, in order. */
export function windowsOf<Row extends { readonly update: number }>(
  rows: readonly Row[],
  updatesPerWindow: number,
): (UpdateWindow & { readonly rows: readonly Row[] })[] {
  const windows = groupBy(rows, ({ update }) => Math.floor((update - 1) / updatesPerWindow));
  return [...windows]
    .sort(([a], [b]) => a - b)
    .map(([index, inside]) => ({
      from: index * updatesPerWindow + 1,
      to: inside.reduce((last, { update }) => Math.max(last, update), 0),
      rows: inside,
    }));
}
