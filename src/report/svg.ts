/** A small writer of SVG text. Everything that comes from outside passes through `escapeMarkup`. */
import { escapeMarkup } from './table.ts';

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
