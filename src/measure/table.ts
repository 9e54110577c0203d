/** Tables as text, Markdown, CSV, LaTeX (booktabs) and HTML. Cells say what they are about; every format escapes what it must. */
import { padText, textWidth, UserError, visible, visibleLine, wrapText } from '../base/index.ts';
import type { Interval } from '../stats/index.ts';

/** What was counted; the first cell of a row speaks for all of them, and each for itself. */
export interface About {
  readonly arm?: string;
  /** The arm that a difference is taken from. */
  readonly against?: string;
  readonly set?: string;
  readonly loophole?: string;
  /** The rollouts of training, not the answers to a set: all, or those that the rest names. */
  readonly training?: true;
  readonly updates?: readonly [from: number, to: number];
  readonly advantage?: 'above 0' | 'below 0' | '0';
  readonly attempt?: 'yes' | 'no';
  readonly route?: string;
  readonly sampled?: string;
}

/** A text, with what it is about where that is known: nothing reads it out of the text. */
export type Cell = string | (About & { readonly text: string });

export const textOf = (cell: Cell): string => (typeof cell === 'string' ? cell : cell.text);

export const armNamed = (arm: string, about: About = {}): Cell => ({ text: arm, arm, ...about });

export function aboutOf(row: readonly Cell[], column: number): About {
  const own = (cell: Cell | undefined): About => (typeof cell === 'object' ? cell : {});
  return { ...own(row[0]), ...own(row[column]) };
}

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly notes?: readonly string[];
}

/** What the rates of a table count. */
export const outcomesNote =
  'attempt: opens a loophole, right or wrong; hack: an attempt that paid for a wrong program; clean solve: solved without an attempt.';

/** The least p that an exact test of pairs can give, two-sided: all differ, and in one direction. */
export const leastP = (pairs: number): number => 2 ** (1 - pairs);

/** Fewer make no claim: leastP of them is above 0.05. Runs have the exploit or do not, so a t test of few of them is no evidence. */
export const fewestSeeds = Math.ceil(1 - Math.log2(0.05));
/** A spread over fewer seeds says nothing: no band, no interval and no test are made of it. Two seeds that happen to agree would give any p. */
export const spreadSeeds = 3;
export const noClaim = (seeds: number): string => `n = ${seeds}, no claim`;

/** The note that nothing is claimed, by the least count of seeds that a table has; false where all are enough. */
export function claimNote(counts: readonly number[]): string | false {
  const least = Math.min(...counts.filter((seeds) => seeds > 0));
  return least < fewestSeeds && `${noClaim(least)}.`;
}

/** The numbers of seeds at the end of a caption: `n = 1, no claim.`, `n = 8 seeds.` */
export function seedsText(counts: readonly number[]): string {
  const note = claimNote(counts);
  if (note !== false && counts.length === 1) return note;
  return `n = ${counts.join(', ')} seeds.${note === false ? '' : ` ${note}`}`;
}

/** A table with a row for each thing: its columns by name, and what each says of a thing. A note that does not apply is false. */
export function makeTable<Thing>(
  title: string,
  things: readonly Thing[],
  columns: Readonly<Record<string, (thing: Thing) => Cell>>,
  ...notes: readonly (string | false)[]
): Table {
  const cells = Object.values(columns);
  const rows = things.map((thing) => cells.map((cell) => cell(thing)));
  return { title, columns: Object.keys(columns), rows, notes: notes.filter((note) => note !== false) };
}

export interface TextTable extends Table {
  readonly rows: readonly (readonly string[])[];
}

const tableFormats = ['text', 'markdown', 'csv', 'latex', 'html'] as const;
export type TableFormat = (typeof tableFormats)[number];

export function parseTableFormat<const Formats extends readonly string[]>(
  name: string,
  allowed: Formats,
): Formats[number] {
  const found = allowed.find((format) => format === name);
  if (found !== undefined) return found;
  throw new UserError({ call: '--format', expected: allowed.join(', '), found: name });
}

export function renderTable(table: Table, format: TableFormat, width?: number): string {
  checkShape(table);
  const texts = { ...table, rows: table.rows.map((row) => row.map(textOf)) };
  return format === 'text' ? renderText(texts, width) : renderers[format](texts);
}

function checkShape({ title, columns, rows }: Table): void {
  const bad = rows.findIndex((row) => row.length !== columns.length);
  if (bad < 0) return;
  throw new UserError({
    call: `table "${title}"`,
    expected: `${columns.length} cells in a row`,
    found: `${rows[bad].length} in row ${bad}`,
  });
}

const renderers: Readonly<Record<Exclude<TableFormat, 'text'>, (table: TextTable) => string>> = {
  markdown: renderMarkdown,
  csv: renderCsv,
  latex: renderLatex,
  html: renderHtml,
};

function renderMarkdown({ title, columns, rows, notes = [] }: TextTable): string {
  const escapeCell = (cell: string): string => cell.replace(/[\\|<>`*_]/g, '\\$&').replace(/\s*\n\s*/g, ' ');
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(' | ')} |`;
  const body = [line(columns), `| ${columns.map(() => '---').join(' | ')} |`, ...rows.map(line)];
  return `${[`**${escapeCell(title)}**`, '', ...body, ...notes.flatMap((note) => ['', escapeCell(note)])].join('\n')}\n`;
}

/** Writes a line of CSV (RFC 4180). Cells that a spreadsheet could run as a formula are not changed: all values are our own. */
export function csvLine(cells: readonly Cell[]): string {
  return cells
    .map(textOf)
    .map((cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
    .join(',');
}

function renderCsv({ columns, rows }: TextTable): string {
  return `${[columns, ...rows].map(csvLine).join('\n')}\n`;
}

const latexCharacters: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '±': '$\\pm$',
  '×': '$\\times$',
  π: '$\\pi$',
  '<': '$<$',
  '>': '$>$',
  '|': '$|$',
  '−': '$-$',
  '≥': '$\\geq$',
  '≤': '$\\leq$',
  '→': '$\\to$',
};

function escapeLatex(text: string): string {
  return text.replace(/[\\~^±×π<>|−≥≤→]|[&%$#_{}]/g, (found) => latexCharacters[found] ?? `\\${found}`);
}

function renderLatex({ title, columns, rows, notes = [] }: TextTable): string {
  const line = (cells: readonly string[]): string => `${cells.map(escapeLatex).join(' & ')} \\\\`;
  return `${[
    '\\begin{table}',
    '\\centering',
    `\\caption{${escapeLatex([notes.length === 0 ? title : `${title}.`, ...notes].join(' '))}}`,
    `\\begin{tabular}{l${'r'.repeat(columns.length - 1)}}`,
    '\\toprule',
    line(columns),
    '\\midrule',
    ...rows.map(line),
    '\\bottomrule',
    '\\end{tabular}',
    '\\end{table}',
  ].join('\n')}\n`;
}

const htmlCharacters: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for elements and quoted attributes in HTML and SVG. Characters that XML forbids become U+FFFD. */
export function escapeMarkup(text: string): string {
  return visible(text.replace(/\r\n?/g, '\n'))
    .replace(/[&<>"']/g, (found) => htmlCharacters[found])
    .replace(/[\ufffe\uffff]/g, '\ufffd');
}

/** No line ends inside an interval. */
const wholeIntervals = (html: string): string => html.replace(/(\[[^\s[\]]+,) (?=[^\s[\]]+\])/g, '$1&nbsp;');

function renderHtml({ title, columns, rows, notes = [] }: TextTable): string {
  // A head that says nothing is none.
  const cells = (row: readonly string[], tag: 'th' | 'td'): string =>
    `<tr>${row.map((cell) => (cell === '' ? '<td></td>' : `<${tag}>${wholeIntervals(escapeMarkup(cell))}</${tag}>`)).join('')}</tr>`;
  return [
    `<table><caption>${escapeMarkup(title)}</caption>`,
    `<thead>${cells(columns, 'th')}</thead>`,
    `<tbody>${rows.map((row) => cells(row, 'td')).join('\n')}</tbody></table>`,
    ...notes.map((note) => `<p class="note">${escapeMarkup(note)}</p>`),
    '',
  ].join('\n');
}

const gap = '  ';
/** The share of a line that may tell rows apart: without these columns a row of a further block cannot be read at all. */
const mostForKeys = 3 / 4;

function renderText({ title, columns, rows, notes = [] }: TextTable, width = Number.POSITIVE_INFINITY): string {
  const shown = [columns, ...rows].map((cells) => cells.map(visibleLine));
  const widths = columns.map((_, column) => Math.max(...shown.map((cells) => textWidth(cells[column]))));
  const keys = keyColumns(shown.slice(1), widths, mostForKeys * width);
  // No mean stands without the number of its seeds.
  const n = columns.indexOf('n');
  const repeated = n < 0 || keys.includes(n) ? keys : [...keys, n];
  const blocks = blocksOf(widths, width, repeated).map((block) => {
    const line = (cells: readonly string[]): string =>
      block
        .map((column) => padText(cells[column], widths[column]))
        .join(gap)
        .trimEnd();
    const [header, ...body] = shown.map(line);
    return [header, block.map((column) => '─'.repeat(widths[column])).join(gap), ...body].join('\n');
  });
  const wrapped = notes.map((note) => wrapText(note, width));
  return `${[wrapText(visibleLine(title), width), blocks.join('\n\n'), ...wrapped].join('\n')}\n`;
}

/** The first column, and those after it that are needed to tell rows apart, as far as they fit. */
function keyColumns(rows: readonly (readonly string[])[], widths: readonly number[], most: number): number[] {
  const distinct = (columns: readonly number[]): number =>
    new Set(rows.map((cells) => JSON.stringify(columns.map((column) => cells[column])))).size;
  const keys = [0];
  let used = widths[0];
  for (let column = 1; column < widths.length && distinct(keys) < rows.length; column++) {
    const own = gap.length + widths[column];
    if (used + own > most || distinct([...keys, column]) === distinct(keys)) continue;
    keys.push(column);
    used += own;
  }
  return keys;
}

/** The columns of each block. A block has at least one column beside its keys, however wide it is. */
function blocksOf(widths: readonly number[], width: number, keys: readonly number[]): number[][] {
  const blocks: number[][] = [[0]];
  let used = widths[0];
  for (let column = 1; column < widths.length; column++) {
    const own = gap.length + widths[column];
    const block = blocks[blocks.length - 1];
    if (used + own <= width || block.length === 1) {
      block.push(column);
      used += own;
    } else {
      const repeated = keys.filter((key) => key !== column);
      blocks.push([...repeated, column]);
      used = repeated.reduce((sum, key) => sum + widths[key] + gap.length, 0) + widths[column];
    }
  }
  return blocks;
}

export const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;

export const signedInterval = (interval: Interval | null): string =>
  interval === null ? '-' : `[${signed(interval.low)}, ${signed(interval.high)}]`;

export function formatP(pValue: number | null): string {
  if (pValue === null) return '-';
  return pValue < 0.001 ? '< 0.001' : pValue.toFixed(3);
}

/** `= 0.012` or `< 0.001`, after the letter. */
export function equalsP(pValue: number | null): string {
  const text = formatP(pValue);
  return text.startsWith('<') ? text : `= ${text}`;
}
