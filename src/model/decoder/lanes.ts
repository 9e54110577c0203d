/**
 * Rows of several policies in one batch. A lane is one policy's part: its rows go through its own project, which sees nothing of the
 * others, and everything else is computed for all rows together. Where a device's rows are independent, each lane gets the bytes that it
 * would have got alone. This is the definition; a device may have kernels that do the same in fewer launches.
 */
import { concatRows, divideRows } from '../../engine/index.ts';
import { type Project, plainProject } from './decoder.ts';

/** So many rows, one after another, and how their linear layers are applied; absent: plainly. */
export interface LaneRows {
  readonly rows: number;
  readonly project?: Project | undefined;
}

/** One project for all lanes, in the order of their rows; undefined where all are plain. */
export function projectLanes(lanes: readonly LaneRows[]): Project | undefined {
  const filled = lanes.filter(({ rows }) => rows > 0);
  if (filled.length <= 1) return filled[0]?.project;
  if (filled.every(({ project }) => project === undefined)) return undefined;
  const counts = filled.map(({ rows }) => rows);
  return (tape, x, layers, onto) => {
    const xs = divideRows(tape, x, counts);
    const ontos = onto === null ? null : divideRows(tape, onto, counts);
    const outs = filled.map(({ project = plainProject }, i) => project(tape, xs[i], layers, ontos?.[i] ?? null));
    return layers.map((_, layer) =>
      concatRows(
        tape,
        outs.map((own) => own[layer]),
      ),
    );
  };
}

/** Runs of neighbours that have the same lane. */
export function laneSpans<Item>(
  items: readonly Item[],
  laneOf: (item: Item) => number,
): { readonly lane: number; readonly start: number; readonly end: number }[] {
  const spans: { lane: number; start: number; end: number }[] = [];
  items.forEach((item, i) => {
    const last = spans.at(-1);
    if (last?.lane === laneOf(item)) last.end = i + 1;
    else spans.push({ lane: laneOf(item), start: i, end: i + 1 });
  });
  return spans;
}
