/** The colours of arms and routes: the same in figures, tables and the viewer. Hacks are told by texture, never by a colour of their own. */
import type { DotShape } from './chart.ts';

/** One colour per route. */
export const routeColours = { keep: '#0072b2', absorb: '#999999', route: '#d55e00' } as const;

/** What hatched marks of hacks are drawn in. */
export const hackInk = '#222222';

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
