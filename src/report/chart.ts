/** Panels with axes, and the few kinds of marks in the lab's figures. The caller gives the domains; marks outside are not clipped. */

import { armNamed, type Cell, type Table } from '../measure/table.ts';
import { mean, standardError } from '../stats/index.ts';
import { type Attributes, element, labelSize, path, placeLabels, text, ticks } from './svg.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export type DotShape = 'circle' | 'square' | 'triangle' | 'diamond' | 'down' | 'plus' | 'cross' | 'star' | 'pentagon';

/** How a point looks; a circle unless it says otherwise. */
export interface Dot {
  readonly colour: string;
  readonly shape?: DotShape;
  readonly open?: boolean;
}

/** `label` is written in its middle. */
type Bar = Readonly<Record<'x0' | 'x1' | 'y0' | 'y1', number> & { label?: string }>;

export type Mark =
  | (Look & {
      readonly kind: 'line';
      readonly points: readonly Point[];
      readonly width?: number;
      readonly opacity?: number;
    })
  | {
      readonly kind: 'band';
      readonly points: readonly Readonly<Record<'x' | 'low' | 'high', number>>[];
      readonly colour: string;
    }
  | ({ readonly kind: 'dots'; readonly points: readonly (Point & { readonly size?: number })[] } & Dot)
  | { readonly kind: 'labels'; readonly points: readonly (Point & { readonly text: string })[] }
  | { readonly kind: 'rule'; readonly x: number; readonly label: string }
  | { readonly kind: 'level'; readonly y: number; readonly label: string }
  | { readonly kind: 'bars'; readonly bars: readonly Bar[]; readonly colour: string; readonly hatched?: boolean };

interface Look {
  readonly colour: string;
  readonly dash?: string;
}

export interface Panel {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
  readonly marks: readonly Mark[];
  readonly xNames?: readonly { readonly x: number; readonly name: string }[];
  readonly yNames?: readonly { readonly y: number; readonly name: string }[];
}

export interface LegendEntry extends Look {
  readonly label: string;
  readonly hatched?: boolean;
  /** The entry stands for points of this look, not for a line. */
  readonly dot?: Dot;
  readonly newRow?: boolean;
}

/** The key of bars that are not hatched. */
export const barKey = (label: string, colour: string): LegendEntry => ({
  label,
  colour,
  dot: { colour, shape: 'square' },
});

export interface Figure {
  readonly name: string;
  readonly title: string;
  readonly caption: string;
  readonly panels: readonly Panel[];
  readonly legend: readonly LegendEntry[];
  readonly columns?: number;
  readonly panelSize?: { readonly width: number; readonly height: number };
  /** The numbers behind the figure; the first column is the arm. */
  readonly data: { readonly columns: readonly string[]; readonly rows: readonly (readonly Cell[])[] };
  readonly training?: true;
}

export function numbersOf({ title, data: { columns, rows }, training }: Figure, most = rows.length): Table {
  const shown = rows
    .slice(0, most)
    .map(([arm, ...others]): Cell[] => [typeof arm === 'string' ? armNamed(arm, { training }) : arm, ...others]);
  return { title, columns, rows: shown };
}

export type PanelBox = Readonly<Record<'width' | 'height' | 'left' | 'right' | 'top' | 'bottom', number>>;

export const usualBox: PanelBox = { width: 330, height: 220, left: 46, right: 10, top: 26, bottom: 38 };
/** The sizes of text: of titles, of the names of axes, and of what stands at ticks, lines and points. */
type TextSizes = Readonly<Record<'title' | 'axis' | 'mark', number>>;

const usualSizes: TextSizes = { title: 12, axis: 10, mark: labelSize };
export const font = { 'font-family': 'DejaVu Sans, Helvetica, Arial, sans-serif' } as const;
const ink = '#222222';

export const isOwnFigure = (svg: string): boolean => ownFigure.test(svg);

const ownFigure =
  /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="[^"]*" width="\d+" height="[\d.]+" role="img" font-family="[^"]*"[^>]*><title>/;

/** `isBare`: without title and caption, for a page that writes them itself. */
export function renderFigure(figure: Figure, isBare = false): string {
  const columns = Math.min(figure.columns ?? 2, Math.max(1, figure.panels.length));
  const rows = Math.ceil(figure.panels.length / columns);
  const box = { ...usualBox, ...figure.panelSize };
  const width = columns * box.width;
  const top = isBare ? 0 : 20;
  const legend = legendRows(figure.legend, width, top);
  const head = top + 10 + 16 * legend.length;
  const caption = isBare ? [] : wrap(figure.caption, Math.floor(width / 5.6));
  const height = head + rows * box.height + 14 * caption.length + 8;
  const panels = figure.panels.map((panel, i) => {
    const [x, y] = [(i % columns) * box.width, head + Math.floor(i / columns) * box.height];
    return element('g', { transform: `translate(${x} ${y})` }, renderPanel(panel, box));
  });
  return element(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', ...font },
    element('title', {}, text(figure.title, {}).replace(/<\/?text>/g, '')),
    hatchDefinitions(figure),
    element('rect', { width, height, fill: '#ffffff' }),
    ...(isBare ? [] : [text(figure.title, { x: 8, y: 18, 'font-size': 13, 'font-weight': 'bold', fill: ink })]),
    ...legend.flat(),
    ...panels,
    ...caption.map((line, i) =>
      text(line, { x: 8, y: head + rows * box.height + 12 + 14 * i, 'font-size': 10, fill: '#555555' }),
    ),
  );
}

/** The value of the panels of a figure below a place, given as a share of the figure's width; they share their x. */
export function xUnder({ panels, columns = 2, panelSize }: Figure, share: number): number {
  const { width, left, right } = { ...usualBox, ...panelSize };
  const place = (share * Math.min(columns, panels.length) * width) % width;
  const [from, to] = panels[0].x;
  return from + ((place - left) / (width - left - right)) * (to - from);
}

function hatchId(colour: string): string {
  return `hatch-${colour.replace('#', '')}`;
}

export function hatchDefinitions({ panels, legend }: Pick<Figure, 'panels' | 'legend'>): string {
  const bars = panels.flatMap(({ marks }) => marks.filter((mark) => mark.kind === 'bars'));
  const colours = [...bars, ...legend].filter(({ hatched }) => hatched === true).map(({ colour }) => colour);
  const patterns = [...new Set(colours)].map((colour) =>
    element(
      'pattern',
      { id: hatchId(colour), width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      element('rect', { width: 5, height: 5, fill: '#ffffff' }),
      element('rect', { width: 2, height: 5, fill: colour }),
    ),
  );
  return element('defs', {}, ...patterns);
}

function legendRows(entries: readonly LegendEntry[], width: number, top: number): string[][] {
  const rows: string[][] = [];
  let [x, row] = [width, -1];
  for (const entry of entries) {
    const room = 30 + 6.4 * entry.label.length;
    if (x + room > width || entry.newRow === true) {
      rows.push([]);
      [x, row] = [8, row + 1];
    }
    const y = top + 14 + 16 * row;
    rows[row].push(renderKey(entry, x, y), text(entry.label, { x: x + 22, y, 'font-size': 11, fill: ink }));
    x += room;
  }
  return rows;
}

/** What a legend has before a label: 18 wide, with its middle 4 above `y`. */
export function renderKey({ colour, dash, hatched, dot }: LegendEntry, x: number, y: number): string {
  if (dot !== undefined) return renderDot(dot, x + 9, y - 4);
  if (hatched === true) {
    return element('rect', { x, y: y - 8, width: 16, height: 8, fill: `url(#${hatchId(colour)})`, stroke: colour });
  }
  const [from, to] = [[x, y - 4] as const, [x + 18, y - 4] as const];
  return element('path', { d: path([from, to]), stroke: colour, 'stroke-width': 2.5, ...dashes(dash) });
}

interface Scales {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly box: PanelBox;
  readonly sizes: TextSizes;
}

/** The size at which a long text fits into its room; a letter is about 0.6 of its size wide. */
function fittingSize(content: string, room: number, usual: number): number {
  return Math.max(6, Math.min(usual, room / (0.6 * content.length)));
}

export function renderPanel(panel: Panel, box: PanelBox, sizes = usualSizes): string {
  const { width, height, left, right, top, bottom } = box;
  const scale = (domain: readonly [number, number], from: number, to: number) => (value: number) =>
    from + ((value - domain[0]) / (domain[1] - domain[0] || 1)) * (to - from);
  const scales = { x: scale(panel.x, left, width - right), y: scale(panel.y, height - bottom, top), box, sizes };
  const centre = (left + width - right) / 2;
  const titleSize = fittingSize(panel.title, width - left + right, sizes.title);
  return [
    text(panel.title, { x: centre, y: 16, 'font-size': titleSize, 'text-anchor': 'middle', fill: ink }),
    ...axes(panel, scales),
    ...panel.marks.map((mark) => renderMark(mark, scales, panel)),
    text(panel.xLabel, { x: centre, y: height - 6, 'font-size': sizes.axis, 'text-anchor': 'middle', fill: ink }),
    text(panel.yLabel, {
      transform: `translate(11 ${(height - bottom + top) / 2}) rotate(-90)`,
      'font-size': sizes.axis,
      'text-anchor': 'middle',
      fill: ink,
    }),
  ].join('');
}

function axes({ x, y, xNames, yNames }: Panel, scales: Scales): string[] {
  const [x0, x1, y0, y1] = [scales.x(x[0]), scales.x(x[1]), scales.y(y[0]), scales.y(y[1])];
  const label = { 'font-size': scales.sizes.mark, fill: ink };
  const names = xNames ?? ticks(x[0], x[1], 5).map((value) => ({ x: value, name: String(value) }));
  const longest = names.reduce((most, { name }) => (name.length > most.length ? name : most), ' ');
  const named = { ...label, 'font-size': fittingSize(longest, (x1 - x0) / names.length, label['font-size']) };
  const line = (from: readonly [number, number], to: readonly [number, number], stroke: string): string =>
    element('path', { d: path([from, to]), stroke, fill: 'none' });
  return [
    ...(yNames ?? ticks(y[0], y[1], 5).map((value) => ({ y: value, name: String(value) }))).flatMap(
      ({ y: at, name }) => [
        line([x0, scales.y(at)], [x1, scales.y(at)], '#e3e3e3'),
        text(name, { x: x0 - 4, y: scales.y(at) + 3, 'text-anchor': 'end', ...label }),
      ],
    ),
    ...namesApart(names, scales, named['font-size']).map(({ x: at, name }) =>
      text(name, { x: scales.x(at), y: y0 + 12, 'text-anchor': 'middle', ...named }),
    ),
    line([x0, y0], [x1, y0], ink),
    line([x0, y0], [x0, y1], ink),
  ];
}

function namesApart(names: NonNullable<Panel['xNames']>, { x }: Scales, size: number): NonNullable<Panel['xNames']> {
  const shown: { readonly x: number; readonly name: string }[] = [];
  let free = Number.NEGATIVE_INFINITY;
  for (const one of names) {
    const half = 0.3 * size * one.name.length;
    if (x(one.x) - half < free) continue;
    shown.push(one);
    free = x(one.x) + half + 2;
  }
  return shown;
}

const corners: Readonly<Record<Exclude<DotShape, 'circle'>, readonly (readonly [number, number])[]>> = {
  square: [[-3, -3], [3, -3], [3, 3], [-3, 3]],
  triangle: [[0, -4], [4, 3], [-4, 3]],
  diamond: [[0, -4.5], [4.5, 0], [0, 4.5], [-4.5, 0]],
  down: [[0, 4], [4, -3], [-4, -3]],
  plus: [[-1, -4], [1, -4], [1, -1], [4, -1], [4, 1], [1, 1], [1, 4], [-1, 4], [-1, 1], [-4, 1], [-4, -1], [-1, -1]],
  cross: [[-4, -3], [-3, -4], [0, -1], [3, -4], [4, -3], [1, 0], [4, 3], [3, 4], [0, 1], [-3, 4], [-4, 3], [-1, 0]],
  pentagon: [[0, -4.5], [4.3, -1.4], [2.6, 3.6], [-2.6, 3.6], [-4.3, -1.4]],
  star: [[0, -5.5], [1.5, -1.8], [5.3, -1.6], [2.3, 0.8], [3.3, 4.5], [0, 2.4], [-3.3, 4.5], [-2.3, 0.8], [-5.3, -1.6], [-1.5, -1.8]],
}; // biome-ignore format: one shape a line

function renderDot({ colour, shape = 'circle', open }: Dot, x: number, y: number, size = 1): string {
  const look = { fill: open === true ? '#ffffff' : colour, stroke: colour };
  if (shape === 'circle') return element('circle', { cx: x, cy: y, r: 3 * size, ...look });
  return element('path', { d: `${path(corners[shape].map(([dx, dy]) => [x + dx, y + dy]))}Z`, ...look });
}

const dashes = (dash: string | undefined): Attributes => (dash === undefined ? {} : { 'stroke-dasharray': dash });

function renderMark(mark: Mark, scales: Scales, panel: Panel): string {
  const { x, y, box, sizes } = scales;
  const dashed = (...ends: readonly (readonly [number, number])[]): string =>
    element('path', { d: path(ends), stroke: ink, ...dashes('3 3') });
  switch (mark.kind) {
    case 'line':
      return element('path', {
        d: path(mark.points.map((point) => [x(point.x), y(point.y)])),
        fill: 'none',
        stroke: mark.colour,
        'stroke-width': mark.width ?? 2,
        'stroke-opacity': mark.opacity ?? 1,
        ...dashes(mark.dash),
      });
    case 'band': {
      const up = mark.points.map((point): [number, number] => [x(point.x), y(point.high)]);
      const down = mark.points.toReversed().map((point): [number, number] => [x(point.x), y(point.low)]);
      return element('path', { d: `${path([...up, ...down])}Z`, fill: mark.colour, 'fill-opacity': 0.18 });
    }
    case 'dots':
      return mark.points.map((point) => renderDot(mark, x(point.x), y(point.y), point.size)).join('');
    case 'labels':
      return renderLabels(mark.points, scales, panel);
    case 'rule': {
      const at = x(mark.x);
      const line = dashed([at, box.top], [at, box.height - box.bottom]);
      const place: Attributes = hasRoom(mark, scales) ? { x: at + 3 } : { x: at - 3, 'text-anchor': 'end' };
      const y = box.top + 8 + (sizes.mark + 4) * rulesBeside(mark, scales, panel);
      return `${line}${text(mark.label, { ...place, y, 'font-size': sizes.mark, fill: ink })}`;
    }
    case 'level': {
      const [from, to, at] = [box.left, box.width - box.right, y(mark.y)];
      const place: Attributes = isCrowded(mark, scales, panel) ? { x: from + 3 } : { x: to - 3, 'text-anchor': 'end' };
      return `${dashed([from, at], [to, at])}${text(mark.label, { ...place, y: at - 3, 'font-size': sizes.mark, fill: ink })}`;
    }
    case 'bars':
      return mark.bars.map((bar) => renderBar(bar, mark, scales)).join('');
  }
}

function renderBar(bar: Bar, { colour, hatched }: Mark & { kind: 'bars' }, { x, y, sizes }: Scales): string {
  const box = element('rect', {
    ...{ x: x(bar.x0), y: y(bar.y1) },
    width: Math.max(0, x(bar.x1) - x(bar.x0)),
    height: Math.max(0, y(bar.y0) - y(bar.y1)),
    fill: hatched === true ? `url(#${hatchId(colour)})` : colour,
    ...{ stroke: colour, 'stroke-width': 0.5, 'fill-opacity': hatched === true ? 1 : 0.75 },
  });
  if (bar.label === undefined) return box;
  const middle = { x: x((bar.x0 + bar.x1) / 2), y: y((bar.y0 + bar.y1) / 2) + 3 };
  return `${box}${text(bar.label, { ...middle, 'font-size': Math.max(11, sizes.mark), 'text-anchor': 'middle', fill: ink })}`;
}

type Rule = Mark & { kind: 'rule' };

/** Widths of a letter of a rule's label: as it is, and on a phone, where texts are larger. */
const letters = ({ mark }: TextSizes) => ({ usual: (2 / 3) * mark, large: (7 / 9) * mark });

const hasRoom = ({ x: at, label }: Rule, { x, sizes, box }: Scales): boolean =>
  x(at) + letters(sizes).usual * label.length < box.width;

/** How many earlier rules have their labels where that of this one would be: so many lines below it stands. */
function rulesBeside(rule: Rule, scales: Scales, { marks }: Panel): number {
  const rules = marks.slice(0, marks.indexOf(rule) + 1).filter((mark) => mark.kind === 'rule');
  const places = rules.map((one) => {
    const [at, length] = [scales.x(one.x), 3 + letters(scales.sizes).large * one.label.length];
    return hasRoom(one, scales) ? [at, at + length] : [at - length, at];
  });
  const [from, to] = places[places.length - 1];
  return places.slice(0, -1).filter(([start, end]) => start < to && from < end).length;
}

function isCrowded(level: Mark & { kind: 'level' }, { y, sizes }: Scales, { marks }: Panel): boolean {
  const earlier = marks.slice(0, marks.indexOf(level));
  return earlier.some((mark) => mark.kind === 'level' && Math.abs(y(mark.y) - y(level.y)) < sizes.mark + 1);
}

function renderLabels(
  points: readonly (Point & { readonly text: string })[],
  { x, y, box, sizes }: Scales,
  { marks }: Panel,
): string {
  const at = (point: Point) => ({ x: x(point.x), y: y(point.y) });
  const dots = marks.flatMap((mark) => (mark.kind === 'dots' ? mark.points.map(at) : []));
  const area = { x0: box.left, x1: box.width - box.right, y0: box.top, y1: box.height - box.bottom };
  return placeLabels(
    points.map((point) => ({ ...at(point), text: point.text })),
    dots,
    area,
    sizes.mark,
  )
    .map((label) => text(label.text, { x: label.x, y: label.y, 'font-size': sizes.mark, fill: ink }))
    .join('');
}

function wrap(content: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of content.split(/\s+/).filter((each) => each !== '')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** An axis from a tick at or below all values to one at or above them; it includes 0. */
export function axisOf(values: readonly number[]): readonly [number, number] {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  if (low === high) return [0, 1];
  const marks = ticks(low, high, 5);
  const gap = marks[1] - marks[0];
  const round = (value: number): number => Number((Math.round(value) * gap).toPrecision(12));
  return [round(Math.floor(low / gap + 1e-9)), round(Math.ceil(high / gap - 1e-9))];
}

export function averageSeries(series: readonly (readonly Point[])[]) {
  const [first = [], ...others] = series;
  return first.flatMap(({ x, y }) => {
    const values = [y, ...others.flatMap((other) => other.filter((point) => point.x === x).map((point) => point.y))];
    if (values.length !== series.length) return [];
    const sem = values.length < 2 ? null : standardError(values);
    return [{ x, y: mean(values), n: values.length, sem }];
  });
}
