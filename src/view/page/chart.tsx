/** ChartLines over updates, drawn by the code that draws figures in files. A click on an update opens its rollouts; tables have the numbers. */
import { useMemo, useState } from 'preact/hooks';
import { axisOf, type Figure, type Mark, xUnder } from '../../report/draw/index.ts';
import { Drawing, fitted, PageTable } from './parts.tsx';

export interface Line {
  readonly label: string;
  readonly colour: string;
  /** `spread` is half the height of the band around a mean over `n` seeds. */
  readonly points: readonly {
    readonly x: number;
    readonly y: number | null;
    readonly spread?: number;
    readonly n?: number;
  }[];
  /** Drawn faintly and without a place in the legend: the state that is not chosen, or one seed of several. */
  readonly isGhost?: boolean;
  readonly dash?: string;
}

/** `unit`: the title of the axis of values; without one they are rates, from 0 to 1. */
export type ChartLines = { readonly title: string; readonly lines: readonly Line[]; readonly unit?: string };

interface ChartsProps {
  readonly title: string;
  readonly charts: readonly ChartLines[];
  readonly doorOf: (update: number) => string;
}

const mostDots = 60;

function marksOf({ points, colour, dash, isGhost = false }: Line): Mark[] {
  const known = points.flatMap(({ x, y, spread }) => (y === null ? [] : [{ x, y, spread }]));
  if (isGhost) return [{ kind: 'line', points: known, colour, dash, width: 1, opacity: 0.27 }];
  const band = known.flatMap(({ x, y, spread }) =>
    spread === undefined ? [] : [{ x, low: y - spread, high: y + spread }],
  );
  return [
    ...(band.length === 0 ? [] : [{ kind: 'band', points: band, colour } as const]),
    { kind: 'line', points: known, colour, dash },
    ...(known.length > mostDots ? [] : [{ kind: 'dots', points: known, colour } as const]),
  ];
}

const updatesOf = (lines: readonly Line[]): number[] =>
  [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);

export function figureOf({ title, charts }: Pick<ChartsProps, 'title' | 'charts'>): Figure {
  const updates = updatesOf(charts.flatMap(({ lines }) => lines));
  const named = charts.map(({ lines }) => lines.filter(({ isGhost }) => isGhost !== true));
  // What a chart of one line shows is said by its title, where others have a legend.
  const several = named.filter((lines) => lines.length > 1);
  return {
    ...{ name: '', title, caption: '', data: { columns: [], rows: [] } },
    panels: charts.map((chart) => ({
      ...{
        title: chart.title,
        xLabel: 'update',
        yLabel: chart.unit ?? 'rate',
        x: [updates[0] ?? 0, updates.at(-1) ?? 1],
      },
      y:
        chart.unit === undefined
          ? [0, 1]
          : axisOf(chart.lines.flatMap(({ points }) => points.flatMap(({ y }) => y ?? []))),
      marks: chart.lines.flatMap(marksOf),
    })),
    legend: [...new Map((several.length > 0 ? several : named).flat().map((line) => [line.label, line])).values()],
    panelSize: { width: 480, height: 240 },
  };
}

export function Charts(props: ChartsProps) {
  const { charts, doorOf } = props;
  const [cursor, setCursor] = useState<number | null>(null);
  const figure = useMemo(() => figureOf(props), [JSON.stringify(charts)]);
  const pointer = {
    onMouseMove: ({ currentTarget, clientX }: MouseEvent & { readonly currentTarget: HTMLElement }) => {
      const { left, width } = currentTarget.getBoundingClientRect();
      const value = xUnder(fitted(figure), (clientX - left) / width);
      const distance = (update: number): number => Math.abs(update - value);
      const [nearest] = updatesOf(charts.flatMap(({ lines }) => lines)).sort((a, b) => distance(a) - distance(b));
      setCursor(nearest ?? null);
    },
    onClick: () => {
      if (cursor !== null) location.hash = doorOf(cursor);
    },
  };
  return (
    <div class="charts">
      <Drawing figure={figure} {...pointer} />
      {cursor !== null && <p class="quiet">{wordsAt(charts, cursor)}</p>}
      {charts.map((chart) => (
        <ChartNumbers key={chart.title} chart={chart} doorOf={doorOf} />
      ))}
    </div>
  );
}

function wordsAt(charts: readonly ChartLines[], update: number): string {
  const words = charts.map(({ title, lines }) => {
    const values = lines
      .filter(({ isGhost }) => isGhost !== true)
      .map((line) => `${line.label} ${cellOf(line, update)}`);
    return `${title}: ${values.join(', ')}`;
  });
  return [`update ${update}`, ...words].join('; ');
}

function cellOf({ points }: Line, update: number): string {
  const point = points.find(({ x }) => x === update);
  if (point === undefined || point.y === null) return '-';
  const mean = point.y.toPrecision(3);
  return point.spread === undefined ? mean : `${mean} ± ${point.spread.toPrecision(2)} (n = ${point.n})`;
}

/** Made when it is opened: a long table that nobody reads would be made again with every update. */
function ChartNumbers({
  chart: { title, lines },
  doorOf,
}: Pick<ChartsProps, 'doorOf'> & { readonly chart: ChartLines }) {
  const [isOpen, setOpen] = useState(false);
  const heads = ['update', ...lines.map(({ label }) => label)];
  const rowOf = (update: number) => [
    <a href={doorOf(update)}>{update}</a>,
    ...lines.map((line) => cellOf(line, update)),
  ];
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>the numbers of “{title}”</summary>
      {isOpen && <PageTable caption={title} heads={heads} rows={updatesOf(lines).map(rowOf)} hasRowHeads />}
    </details>
  );
}
