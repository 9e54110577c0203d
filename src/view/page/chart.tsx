/** Curves over updates with a cursor. A click on an update opens the rollouts behind it. A table beside the chart has its numbers. */
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { PageTable } from './parts.tsx';

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

interface ChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly range?: readonly [number, number];
  readonly doorOf: (update: number) => string;
}

function dataOf(lines: readonly Line[]): uPlot.AlignedData {
  const updates = [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const columns = lines.map(({ points }) => {
    const at = new Map(points.map(({ x, y }) => [x, y]));
    return updates.map((update) => at.get(update) ?? null);
  });
  return [updates, ...columns];
}

const ink = '#222222';

function optionsOf({ lines, range, title }: ChartProps, width: number, shown: () => readonly Line[]): uPlot.Options {
  const axis = { stroke: ink, grid: { stroke: '#e3e3e3' }, ticks: { stroke: '#e3e3e3' }, font: '11px system-ui' };
  return {
    title,
    width,
    height: 220,
    scales: { x: { time: false }, ...(range === undefined ? {} : { y: { range: [range[0], range[1]] } }) },
    axes: [{ ...axis }, { ...axis, size: 52 }],
    legend: { markers: { dash: (_chart, i) => borderOf(lines[i - 1]?.dash) } },
    hooks: { drawAxes: [(chart) => drawBands(chart, shown())] },
    series: [
      { label: 'update' },
      ...lines.map(
        ({ label, colour, isGhost = false, dash }): uPlot.Series => ({
          label,
          stroke: isGhost ? `${colour}44` : colour,
          width: isGhost ? 1 : 2,
          spanGaps: true,
          points: { show: !isGhost, size: 5 },
          ...(dash === undefined ? {} : { dash: dash.split(' ').map(Number) }),
          value: (_self, value) => (value === null ? '-' : value.toPrecision(3)),
        }),
      ),
    ],
  };
}

const borderOf = (dash: string | undefined): string =>
  dash === undefined ? 'solid' : dash.startsWith('1 ') ? 'dotted' : dash.startsWith('4 ') ? 'dashed' : 'double';

/** Bands lie below the lines. */
function drawBands({ ctx, bbox, valToPos }: uPlot, lines: readonly Line[]): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { points, colour, isGhost } of lines) {
    const known = points.flatMap(({ x, y, spread }) => (y === null || spread === undefined ? [] : [{ x, y, spread }]));
    if (isGhost || known.length === 0) continue;
    const edges = [
      ...known.map(({ x, y, spread }) => [x, y + spread] as const),
      ...known.toReversed().map(({ x, y, spread }) => [x, y - spread] as const),
    ];
    ctx.beginPath();
    for (const [x, y] of edges) ctx.lineTo(valToPos(x, 'x', true), valToPos(y, 'y', true));
    ctx.closePath();
    ctx.fillStyle = `${colour}33`;
    ctx.fill();
  }
  ctx.restore();
}

/** The chart is made anew when it has other lines; points that are added to the same lines are drawn when it is in sight. */
export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const redraw = useRef<() => void>(() => undefined);
  const kinds = props.lines.map(({ label, colour, isGhost, dash }) => [label, colour, isGhost, dash]);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const { lines } = latest.current;
    const chart = new uPlot(
      optionsOf(latest.current, element.clientWidth || 480, () => latest.current.lines),
      dataOf(lines),
      element,
    );
    chart.root.querySelectorAll<HTMLElement>('.u-legend .u-series').forEach((entry, i) => {
      entry.hidden = lines[i - 1]?.isGhost === true;
    });
    const stop = followSize(element, chart);
    const inSight = drawInSight(element, () => chart.setData(dataOf(latest.current.lines)));
    redraw.current = inSight.redraw;
    chart.over.addEventListener('click', () => {
      const update = chart.data[0][chart.cursor.idx ?? -1];
      if (update !== undefined) location.hash = latest.current.doorOf(update);
    });
    return () => {
      stop();
      inSight.stop();
      chart.destroy();
    };
  }, [JSON.stringify([props.title, props.range, kinds])]);
  const drawn = useRef('');
  useEffect(() => {
    const points = JSON.stringify(props.lines.map((line) => line.points));
    if (drawn.current !== '' && drawn.current !== points) redraw.current();
    drawn.current = points;
  });
  return (
    <div class="chart">
      <div class="paper" ref={place} role="img" aria-label={`${props.title}; the table below has the numbers`} />
      <ChartNumbers {...props} />
    </div>
  );
}

/** The first report is of the size that the chart was made with. */
function followSize(element: HTMLElement, chart: uPlot): () => void {
  let width = element.clientWidth;
  const observer = new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    chart.setSize({ width, height: 220 });
  });
  observer.observe(element);
  return () => observer.disconnect();
}

function drawInSight(element: Element, draw: () => void): { redraw(): void; stop(): void } {
  let isSeen = false;
  let isStale = false;
  const look = (): void => {
    if (!isSeen || !isStale) return;
    isStale = false;
    draw();
  };
  const observer = new IntersectionObserver((entries) => {
    isSeen = entries.at(-1)?.isIntersecting === true;
    look();
  });
  observer.observe(element);
  return {
    redraw: () => {
      isStale = true;
      look();
    },
    stop: () => observer.disconnect(),
  };
}

function cellOf({ points }: Line, update: number): string {
  const point = points.find(({ x }) => x === update);
  if (point === undefined || point.y === null) return '-';
  const mean = point.y.toPrecision(3);
  return point.spread === undefined ? mean : `${mean} ± ${point.spread.toPrecision(2)} (n = ${point.n})`;
}

/** Made when it is opened: a long table that nobody reads would be made again with every update. */
function ChartNumbers(props: ChartProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>the numbers of “{props.title}”</summary>
      {isOpen && <NumbersTable {...props} />}
    </details>
  );
}

function NumbersTable({ title, lines, doorOf }: ChartProps) {
  const [updates] = dataOf(lines);
  const rows = [...updates].map((update) => [
    <a href={doorOf(update)}>{update}</a>,
    ...lines.map((line) => cellOf(line, update)),
  ]);
  return <PageTable caption={title} heads={['update', ...lines.map(({ label }) => label)]} rows={rows} hasRowHeads />;
}
