import { expect, it } from 'vitest';
import { placeLabels } from './svg.ts';

const area = { x0: 0, x1: 100, y0: 0, y1: 100 };

it('a label stands at the upper right of its point, and elsewhere where that is taken or outside', () => {
  const point = { x: 50, y: 50 };
  expect(placeLabels([{ ...point, text: '1' }], [point], area)).toEqual([{ x: 54.5, y: 48, text: '1' }]);
  const neighbour = { x: 58, y: 45 };
  const [beside] = placeLabels([{ ...point, text: '1' }], [point, neighbour], area);
  expect(beside.x).toBeLessThan(50);
  const [corner] = placeLabels([{ x: 99, y: 1, text: '1' }], [{ x: 99, y: 1 }], area);
  expect(corner.x).toBeLessThan(99);
  expect(corner.y).toBeGreaterThan(1);
});

it('no label stands on a point or on another label, and one without room is left out', () => {
  const points = Array.from({ length: 40 }, (_, i) => ({ x: 40 + (i % 8) * 3, y: 40 + Math.floor(i / 8) * 3 }));
  const placed = placeLabels(
    points.map((point, i) => ({ ...point, text: `${i + 10}` })),
    points,
    area,
  );
  expect(placed.length).toBeGreaterThan(0);
  expect(placed.length).toBeLessThan(40);
  for (const [i, a] of placed.entries()) {
    for (const b of placed.slice(i + 1)) expect(Math.abs(a.x - b.x) > 11 || Math.abs(a.y - b.y) >= 9).toBe(true);
    for (const { x, y } of points) expect(x > a.x && x < a.x + 11 && y > a.y - 6 && y < a.y + 2).toBe(false);
  }
});
