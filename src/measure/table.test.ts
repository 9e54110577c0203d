import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvLine, escapeMarkup, renderTable } from './table.ts';

const table = { title: 'a_b', columns: ['x', 'y'], rows: [['1 ± 2', 'p_q & 50%']], notes: ['note | *bold*'] };

describe('tables', () => {
  it('as text are aligned', () => {
    expect(renderTable(table, 'text')).toBe('a_b\nx      y\n─────  ─────────\n1 ± 2  p_q & 50%\nnote | *bold*\n');
  });

  it('too wide for the window repeat the columns that tell rows apart', () => {
    const rates = (set: string, state: string) => [set, state, '0/8 0.00 [0.00]', '1/8 0.13 [0.02]', '0.13'];
    const rows = [rates('test', 'base'), rates('test', 'deployed'), rates('train', 'base')];
    const wide = { title: 't', columns: ['set', 'state', 'hack', 'solve', 'objective'], rows };
    const blocks = renderTable(wide, 'text', 50).trimEnd().split('\n\n');
    expect(blocks.map((block) => block.split('\n').at(-1))).toEqual([
      'train  base      0/8 0.00 [0.00]  1/8 0.13 [0.02]',
      'train  base      0.13',
    ]);
  });

  it('repeat the number of seeds: no mean stands without it', () => {
    const rows = ['vanilla', 'gate'].map((arm) => [arm, '2', '0.50 ± 0.00', '0.25 ± 0.00']);
    const text = renderTable({ title: 't', columns: ['arm', 'n', 'attempt', 'solve'], rows }, 'text', 26);
    expect(text.split('\n').filter((line) => line.startsWith('gate'))).toEqual([
      'gate     2  0.50 ± 0.00',
      'gate     2  0.25 ± 0.00',
    ]);
  });

  it('repeat them too where they take more than half of a line', () => {
    const rows = ['vanilla', 'its placebo'].map((against) => [
      'an arm with a long name',
      '0.25',
      against,
      '-0.10',
      '0.097',
    ]);
    const wide = { title: 't', columns: ['arm', 'hack', 'against', 'difference', 'p'], rows };
    const blocks = renderTable(wide, 'text', 50).trimEnd().split('\n\n');
    expect(blocks.map((block) => block.split('\n').at(-1))).toEqual([
      'an arm with a long name  0.25  its placebo',
      'an arm with a long name  its placebo  -0.10',
      'an arm with a long name  its placebo  0.097',
    ]);
  });

  it('as HTML have no empty heads and keep intervals on one line', () => {
    const html = renderTable({ title: 't', columns: ['', 'rate'], rows: [['a, b', '0.25 [0.10, −0.49]']] }, 'html');
    expect(html).toContain('<thead><tr><td></td><th>rate</th></tr></thead>');
    expect(html).toContain('<td>a, b</td><td>0.25 [0.10,&nbsp;−0.49]</td>');
  });

  it('as LaTeX end the title of a caption before its notes', () => {
    expect(renderTable(table, 'latex')).toContain('\\caption{a\\_b. note $|$ *bold*}');
    expect(renderTable({ ...table, notes: [] }, 'latex')).toContain('\\caption{a\\_b}');
  });

  it('as Markdown and LaTeX escape what would be read as markup', () => {
    expect(renderTable(table, 'markdown')).toContain('| 1 ± 2 | p\\_q & 50% |');
    expect(renderTable(table, 'markdown')).toContain('note \\| \\*bold\\*');
    expect(renderTable(table, 'latex')).toContain('1 $\\pm$ 2 & p\\_q \\& 50\\% \\\\');
    // pdfLaTeX stops at π, and its usual fonts have other signs in the place of the last three.
    expect(renderTable({ ...table, rows: [['π ×', '< > |']] }, 'latex')).toContain(
      '$\\pi$ $\\times$ & $<$ $>$ $|$ \\\\',
    );
    expect(renderTable({ ...table, rows: [['\\', '~']] }, 'latex')).toContain(
      '\\textbackslash{} & \\textasciitilde{} \\\\',
    );
  });

  it('refuse a row of another length', () => {
    expect(() => renderTable({ ...table, rows: [['1']] }, 'csv')).toThrow('2 cells in a row');
  });

  it('as CSV give back what went in', () => {
    const parse = (line: string): string[] => {
      const cells = [''];
      let quoted = false;
      for (let i = 0; i < line.length; i++) {
        const doubled = quoted && line.startsWith('""', i);
        if (line[i] === '"' && !doubled) quoted = !quoted;
        else if (line[i] === ',' && !quoted) cells.push('');
        else cells[cells.length - 1] += line[i];
        if (doubled) i++;
      }
      return cells;
    };
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 5 }), (cells) => {
        expect(parse(csvLine(cells))).toEqual(cells);
      }),
    );
  });

  it('escaped markup holds no markup, whatever goes in', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (content) => {
        const escaped = escapeMarkup(content);
        expect(escaped).not.toMatch(/[<>"']/);
        expect(escaped).not.toMatch(/&(?!amp;|lt;|gt;|quot;|#39;)/);
        // Nothing that reorders or hides text in a browser.
        expect(escaped).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });
});
