import type { ComponentChildren, VNode } from 'preact';
import { expect, it } from 'vitest';
import type { GateRow } from '../api.ts';
import { ScoreHistogram } from './score-histogram.tsx';

type Node = VNode<{ readonly children?: ComponentChildren; readonly [name: string]: unknown }>;

/** All elements of a kind in what a component returned. */
function elementsOf(from: unknown, kind: string): Node['props'][] {
  if (Array.isArray(from)) return from.flatMap((each) => elementsOf(each, kind));
  if (typeof from !== 'object' || from === null) return [];
  const { type, props } = from as Node;
  return [...(type === kind ? [props] : []), ...elementsOf(props.children, kind)];
}

it('clean rollouts stand above the line, hacks below it and other attempts below those, each as tall as there are of its kind', () => {
  const row = (score: number, attempt: boolean, hack = false) => ({ score, attempt, hack }) as GateRow;
  const clean = [row(0, false), row(0, false), row(0, false), row(1, false)];
  const rows = [...clean, row(1, true, true), row(1, true, true), row(1, true)];
  const shown = ScoreHistogram({ rows, cuts: undefined, update: 7 });
  const [paper, ...bars] = elementsOf(shown, 'rect').map(({ x, y, height }) => ({
    x: Number(x),
    y: Number(y),
    height: Number(height),
  }));
  const middle = paper.height / 2;
  const tall = bars.filter(({ height }) => height > 0);
  const unit = Math.max(...tall.map(({ height }) => height)) / 3;
  const side = ({ y }: { y: number }): string => (y < middle ? 'above' : 'below');
  expect(tall.map((bar) => [side(bar), Math.round(bar.height / unit), bar.x > 0])).toEqual([
    ['above', 3, false],
    ['above', 1, true],
    ['below', 2, true],
    ['below', 1, true],
  ]);
  expect(tall[3].y, 'where the hacks end').toBeCloseTo(tall[2].y + tall[2].height);
  expect(elementsOf(shown, 'p').map(({ children }) => children)).toEqual([
    'Scores of update 7: 4 clean above, 3 attempts below, of them 2 hacks (solid)',
  ]);
});
