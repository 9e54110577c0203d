import { describe, expect, it } from 'vitest';
import type { Figure } from './chart.ts';
import { figureStyle, pageFigure } from './page-figure.ts';

const panel: Figure['panels'][number] = {
  ...{ title: 'a <panel>', xLabel: 'x', yLabel: 'y', x: [0, 1], y: [0, 1] },
  marks: [
    { kind: 'bars', bars: [{ x0: 0, x1: 0.5, y0: 0, y1: 1 }], colour: '#222222', hatched: true },
    { kind: 'rule', x: 0.5, label: 'cut' },
    { kind: 'level', y: 0.5, label: 'base' },
  ],
};
const figure: Figure = {
  ...{
    name: 'made',
    title: 'A & B',
    caption: 'n < 2',
    legend: [{ label: 'an <arm>', colour: '#222222', hatched: true }],
  },
  panels: [panel, panel],
  data: { columns: [], rows: [] },
};

describe('a figure for a page', () => {
  it('has a drawing for each panel, whose text is of 12, and all else as text of the page', () => {
    const html = pageFigure(figure, 'h3');
    expect(html.match(/<svg [^>]*role="img" aria-label="A &amp; B: a &lt;panel&gt;"/g)).toHaveLength(2);
    expect(new Set([...html.matchAll(/font-size="([^"]*)"/g)].map(([, size]) => size))).toEqual(new Set(['12']));
    for (const text of [
      '<h3>A &amp; B</h3>',
      '<p>a &lt;panel&gt;</p>',
      '</svg>an &lt;arm&gt;</li>',
      '>n &lt; 2</figcaption>',
    ]) {
      expect(html).toContain(text);
    }
  });

  it('is as wide as its names need, and then scrolls by itself', () => {
    const xNames = Array.from({ length: 6 }, (_, x) => ({ x, name: 'stdout_marker' }));
    const wide = pageFigure({ ...figure, panels: [{ ...panel, x: [-0.5, 5.5], xNames }] }, 'h3');
    expect(wide.match(/>stdout_marker</g)).toHaveLength(6);
    expect(wide).not.toMatch(/font-size="(?!12")/);
    expect(Number(/--panel:(\d+)px/.exec(wide)?.[1])).toBeGreaterThan(6 * 13 * 0.6 * 12);
    expect(wide).toMatch(/class="scroll" tabindex="0"/);
    expect(pageFigure(figure, 'h3')).not.toContain('scroll');
  });

  it('has colours of paper and ink from the page, which has a name for each that a drawing uses beside those of arms', () => {
    const used = [...pageFigure(figure, 'h3').matchAll(/(fill|stroke)="(#[0-9a-f]{6})"/g)];
    expect(used.length).toBeGreaterThan(10);
    for (const [, what, colour] of used) expect(figureStyle).toContain(`svg [${what}="${colour}"] { ${what}: var(--`);
  });
});
