/**
 * Rows of several policies in one batch. A lane is one policy's part: its rows go through its own project, which sees nothing of the
 * others, and everything else is computed for all rows together. Where a device's rows are independent, each lane gets the bytes that it
 * would have got alone. The definition takes the rows of each lane apart; on a device with kernels for adapters that differ by row,
 * neighbouring lanes whose projects are alike go through these.
 */
import { add, type BlockCoefficients, concatRows, divideRows, laneLinears, type Scope } from '../../engine/index.ts';
import { type AdaptedProject, type Project, plainProject } from './decoder.ts';

/** So many rows, one after another, and how their linear layers are applied; absent: plainly. */
export interface LaneRows {
  readonly rows: number;
  readonly project?: Project | undefined;
  /** Rows after these that are nobody's; default: 0. */
  readonly gap?: number;
}

/** One project for all lanes, in the order of their rows; undefined where all are plain. What it needs lives in `scope`. */
export function projectLanes(scope: Scope, lanes: readonly LaneRows[]): Project | undefined {
  const filled = lanes.filter(({ rows, gap = 0 }) => rows + gap > 0);
  if (filled.length === 1 && (filled[0].gap ?? 0) === 0) return filled[0].project;
  if (filled.every(({ project }) => project === undefined)) return undefined;
  const parts = divideLanes(scope, filled);
  if (parts.length === 1) return parts[0].project;
  const counts = parts.map(({ rows }) => rows);
  return (tape, x, layers, onto) => {
    const xs = divideRows(tape, x, counts);
    const ontos = onto === null ? null : divideRows(tape, onto, counts);
    const outs = parts.map(({ project = plainProject }, i) => project(tape, xs[i], layers, ontos?.[i] ?? null));
    return layers.map((_, layer) =>
      concatRows(
        tape,
        outs.map((own) => own[layer]),
      ),
    );
  };
}

/** The parts that go different ways: runs of lanes that the device can join, and single lanes. Rows of nobody go plainly, or with a run. */
function divideLanes(scope: Scope, lanes: readonly LaneRows[]): Pick<LaneRows, 'rows' | 'project'>[] {
  const joins = scope.device.kernels.laneProducts !== undefined;
  const kindOf = ({ project }: LaneRows): string | undefined => (joins ? project?.adapted?.kind : undefined);
  const runs: LaneRows[][] = [];
  for (const lane of lanes) {
    const [run] = runs.slice(-1);
    if (run !== undefined && kindOf(lane) !== undefined && kindOf(lane) === kindOf(run[0])) run.push(lane);
    else runs.push([lane]);
  }
  return runs.flatMap((run) => {
    if (kindOf(run[0]) !== undefined) return [{ rows: rowsOf(run), project: joinAdapted(scope, run) }];
    const [{ rows, project, gap = 0 }] = run;
    return gap === 0 ? [{ rows, project }] : [{ rows, project }, { rows: gap }];
  });
}

function rowsOf(lanes: readonly LaneRows[]): number {
  return lanes.reduce((sum, { rows, gap = 0 }) => sum + rows + gap, 0);
}

/** The project of lanes whose adapters have equal shapes. */
function joinAdapted(scope: Scope, lanes: readonly LaneRows[]): Project {
  let next = 0;
  const parts = lanes.flatMap(({ rows, gap = 0, project }) => {
    const start = next;
    next += rows + gap;
    return project?.adapted === undefined ? [] : [{ start, end: start + rows, ...project.adapted }];
  });
  const coefficients = joinCoefficients(scope, next, parts);
  const apply: Project = (tape, x, layers, onto) => {
    const count = layers.filter(({ module }) => parts[0].adapterOf(module) !== undefined).length;
    if (count === 0) return plainProject(tape, x, layers, onto);
    if (count < layers.length) return layers.flatMap((layer) => apply(tape, x, [layer], onto));
    const own = parts.map(({ start, end, adapterOf }) => ({
      start,
      end,
      adapters: layers.flatMap(({ module }) => adapterOf(module) ?? []),
    }));
    const weights = layers.map(({ weight }) => weight);
    const outs = laneLinears(tape, x, weights, own, coefficients, onto);
    return outs.map((out, i) => {
      const { bias } = layers[i];
      return bias === null ? out : add(tape, out, bias);
    });
  };
  return apply;
}

function joinCoefficients(
  scope: Scope,
  rows: number,
  parts: readonly (Pick<AdaptedProject, 'coefficients'> & { readonly start: number; readonly end: number })[],
): BlockCoefficients {
  const join = (which: keyof BlockCoefficients) => {
    const all = scope.zeros([rows, 2], `${which} coefficients of lanes`);
    for (const { start, end, coefficients } of parts) {
      scope.device.kernels.copy(all.rows(start, end), coefficients[which]);
    }
    return all;
  };
  const forward = join('forward');
  const alike = parts.every(({ coefficients: own }) => own.through === own.forward && own.learn === own.forward);
  return alike
    ? { forward, through: forward, learn: forward }
    : { forward, through: join('through'), learn: join('learn') };
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
