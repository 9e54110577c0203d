/**
 * A small writer of SVG text, and the colours of arms, routes and rates: the same in figures, tables and the viewer. Everything that comes from
 * outside passes through `escapeMarkup`. Bars of hacks are hatched.
 */

import { escapeMarkup } from '../measure/table.ts';
import type { DotShape, Point } from './chart.ts';

export type Attributes = Readonly<Record<string, string | number>>;

export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${typeof value === 'number' ? formatNumber(value) : escapeMarkup(value)}"`)
    .join('');
  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join('')}</${name}>`;
}

export function text(content: string, attributes: Attributes): string {
  return element('text', attributes, escapeMarkup(content));
}

/** Rounds to two decimals, which is enough for a figure and gives the same bytes everywhere. */
function formatNumber(value: number): string {
  return String(Math.round(value * 100) / 100);
}

export function path(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${formatNumber(x)} ${formatNumber(y)}`).join('');
}

/** About `count` ticks that cover a domain, at multiples of 1, 2 or 5 times a power of ten. */
export function ticks(low: number, high: number, count: number): number[] {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  // Rounded, so that 3 · 0.1 is written as 0.3.
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

export type PlacedLabel = Point & { readonly text: string };
type Rectangle = Readonly<Record<'x0' | 'x1' | 'y0' | 'y1', number>>;

/** The usual font size of labels; a letter is about six tenths of it wide. */
export const labelSize = 9;
/** Half the width of a point, with a little room. */
const reach = 4;

/** One label after the other takes the first place around its point that is free; one without a free place is left out. */
export function placeLabels(
  labels: readonly PlacedLabel[],
  points: readonly Point[],
  area: Rectangle,
  size = labelSize,
): PlacedLabel[] {
  const taken: Rectangle[] = points.map(({ x, y }) => around(x - reach, y - reach, 2 * reach, 2 * reach));
  return labels.flatMap(({ x, y, text }) => {
    const width = 0.62 * size * text.length;
    for (const place of places(x, y, width, size)) {
      const own = around(place.x, place.y - 0.75 * size, width, size);
      if (!inside(own, area) || taken.some((other) => overlap(own, other))) continue;
      taken.push(own);
      return [{ ...place, text }];
    }
    return [];
  });
}

const around = (x0: number, y0: number, width: number, height: number): Rectangle => ({
  ...{ x0, x1: x0 + width },
  ...{ y0, y1: y0 + height },
});

/** The corners first, where the lines of intervals do not go, then right, left, above and below. */
function places(x: number, y: number, width: number, size: number): Point[] {
  const [right, left, middle] = [x + reach + 0.5, x - reach - 0.5 - width, x - width / 2];
  const [level, above, below] = [y + 0.3 * size, y - 2, y + size];
  return [
    { x: right, y: above },
    { x: left, y: above },
    { x: right, y: below },
    { x: left, y: below },
    { x: right, y: level },
    { x: left, y: level },
    { x: middle, y: above },
    { x: middle, y: below },
  ];
}

function inside(own: Rectangle, area: Rectangle): boolean {
  return own.x0 >= area.x0 && own.x1 <= area.x1 && own.y0 >= area.y0 && own.y1 <= area.y1;
}

function overlap(a: Rectangle, b: Rectangle): boolean {
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

export const routeColours = { keep: '#0072b2', absorb: '#999999', route: '#d55e00' } as const;

/** The colours of rates and verdicts on every screen; marks and dashes tell them apart, too. */
export const rateColours = { attempt: '#a86200', hack: '#b3001b', solve: '#5b4bc4', cleanSolve: '#1b7f4b' } as const;

/** What neither attempts nor hacks, beside what does. */
export const otherColour = '#999999';

const armColours = ['#000000', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c564b', '#7f3fbf', '#5f7a1c', '#b5179e'];
const dashes = [undefined, '6 3', '2 2', '8 3 2 3'] as const;
const shapes = ['circle', 'square', 'triangle', 'diamond'] as const satisfies readonly DotShape[];

/** The colour of the i-th arm; when colours come again, lines have another dash and points another shape. */
export function armStyle(index: number): { colour: string; dash?: string; shape: DotShape } {
  const round = Math.floor(index / armColours.length);
  const dash = dashes[round % dashes.length];
  const shape = shapes[round % shapes.length];
  return { colour: armColours[index % armColours.length], shape, ...(dash === undefined ? {} : { dash }) };
}
