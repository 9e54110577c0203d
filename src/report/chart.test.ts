import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { averageSeries, type Figure, renderFigure } from './chart.ts';
import { seriesMarks } from './series-figures.ts';
import { ticks } from './svg.ts';
import { writeFigures } from './write.ts';

const figure: Figure = {
  name: 'probe',
  title: 'A & B <i>',
  caption: 'n = 1, no claim.',
  legend: [{ label: 'clean', colour: '#222222', hatched: true }],
  panels: [
    {
      title: 'panel',
      xLabel: 'x',
      yLabel: 'y',
      x: [0, 10],
      y: [0, 1],
      marks: [
        { kind: 'line', points: [{ x: 0, y: 0 }, { x: 10, y: 1 }], colour: '#000000' }, // biome-ignore format: one line
        { kind: 'band', points: [{ x: 0, low: 0, high: 1 }], colour: '#000000' },
        { kind: 'bars', bars: [{ x0: 0, x1: 1, y0: 0, y1: 0.5 }], colour: '#222222', hatched: true },
        { kind: 'rule', x: 5, label: 'cut' },
        { kind: 'dots', points: [{ x: 5, y: 0.5 }], colour: '#000000', open: true },
      ],
    },
  ],
  data: { columns: ['x', 'y'], rows: [['0', '1']] },
};

describe('figures', () => {
  it('name levels that lie close together at both ends, those apart at the right one', () => {
    const ends = (...levels: number[]): string[] => {
      const marks = levels.map((y, i) => ({ kind: 'level' as const, y, label: `level ${i}` }));
      const svg = renderFigure({ ...figure, panels: [{ ...figure.panels[0], marks }] });
      return [...svg.matchAll(/<text ([^>]*)>level \d/g)].map(([, look]) => (look.includes('end') ? 'right' : 'left'));
    };
    expect(ends(0.5, 0.52)).toEqual(['right', 'left']);
    expect(ends(0.2, 0.8)).toEqual(['right', 'right']);
  });

  it('name rules that lie close together one below the other, those apart in one line', () => {
    const places = (...at: number[]): string[] => {
      const marks = at.map((x, i) => ({ kind: 'rule' as const, x, label: `rule ${i}` }));
      const svg = renderFigure({ ...figure, panels: [{ ...figure.panels[0], marks }] });
      return [...svg.matchAll(/y="(\d+)"[^>]*>rule \d/g)].map(([, y]) => y);
    };
    expect(places(4, 5)).toEqual(['34', '47']);
    expect(places(2, 8)).toEqual(['34', '34']);
    expect(places(9, 8), 'the label of the first stands to its left').toEqual(['34', '47']);
  });

  it('place points on their axes and escape text', () => {
    const svg = renderFigure(figure);
    // The plot area goes from 46 (left) to 320 (right) and from 182 (bottom) to 26 (top).
    expect(svg).toContain('M46 182L320 26');
    expect(svg).toContain('A &amp; B &lt;i&gt;');
    expect(svg).not.toContain('<i>');
    expect(svg).toContain('url(#hatch-222222)');
  });

  it('set long titles and crowded names smaller, so that they fit', () => {
    const titled = (title: string) => renderFigure({ ...figure, panels: [{ ...figure.panels[0], title }] });
    expect(titled('short')).toMatch(/font-size="12"[^>]*>short</);
    expect(titled('x'.repeat(49))).toMatch(/font-size="10"[^>]*>x{49}</);
    const xNames = Array.from({ length: 6 }, (_, i) => ({ x: i, name: 'stdout_marker' }));
    const named = renderFigure({ ...figure, panels: [{ ...figure.panels[0], xNames }] });
    expect(named).toMatch(/font-size="6"[^>]*>stdout_marker</);
  });

  it('write the names of both axes, and what a bar says in its middle', () => {
    const bars = [{ x0: -0.5, x1: 0.5, y0: -0.5, y1: 0.5, label: '3/12' }];
    const named = { x: [-0.5, 0.5] as const, y: [-0.5, 0.5] as const, xNames: [{ x: 0, name: 'r1' }] };
    const marks = [{ kind: 'bars' as const, bars, colour: '#0072b2' }];
    const panel = { ...figure.panels[0], ...named, yNames: [{ y: 0, name: 'f0.1' }], marks };
    const svg = renderFigure({ ...figure, panels: [panel], panelSize: { width: 330, height: 220 } });
    const middle = '<text x="183" y="107" font-size="11" text-anchor="middle" fill="#222222">3/12</text>';
    expect(svg).toContain(middle);
    expect(svg).toContain('>f0.1</text>');
    expect(svg).not.toContain('>-0.5</text>');
  });

  it('become files: SVG, PNG of the same content, and the numbers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gq-figures-'));
    const { files, warnings } = await writeFigures([figure], folder);
    expect(warnings).toEqual([]);
    expect(files.map((path) => path.slice(folder.length + 1))).toEqual(['probe.svg', 'probe.png', 'probe.csv']);
    const png = readFileSync(join(folder, 'probe.png'));
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    expect(png.readUInt32BE(16)).toBe(660);
    expect(readFileSync(join(folder, 'probe.csv'), 'utf8')).toBe('x,y\n0,1\n');
  });

  it('ticks are round, ordered and inside', () => {
    expect(ticks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticks(0, 100, 5)).toEqual([0, 20, 40, 60, 80, 100]);
    fc.assert(
      fc.property(
        fc.double({ min: -1e4, max: 1e4, noNaN: true }),
        fc.double({ min: 1e-2, max: 1e4, noNaN: true }),
        (low, span) => {
          const found = ticks(low, low + span, 5);
          expect(found.length).toBeGreaterThan(1);
          expect(found.length).toBeLessThan(13);
          for (const tick of found) expect(tick).toBeGreaterThanOrEqual(low - 1e-6 * span);
          for (const tick of found) expect(tick).toBeLessThanOrEqual(low + span + 1e-6 * span);
        },
      ),
    );
  });
});

describe('series over seeds', () => {
  const points = (...ys: number[]) => ys.map((y, x) => ({ x, y }));

  it('average only where every seed has a value', () => {
    expect(averageSeries([points(0, 1, 1), points(1, 0)])).toEqual([
      { x: 0, y: 0.5, n: 2, sem: 0.5 },
      { x: 1, y: 0.5, n: 2, sem: 0.5 },
    ]);
  });

  it('have a band from three seeds on, and lines of their own below', () => {
    const kinds = (count: number) =>
      seriesMarks(
        Array.from({ length: count }, () => points(0, 1)),
        { colour: '#000' },
      ).map(({ kind }) => kind);
    expect([kinds(1), kinds(2), kinds(3)]).toEqual([['line'], ['line', 'line'], ['band', 'line']]);
  });
});
