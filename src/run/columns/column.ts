/**
 * The columns of a table, declared once: the type of their values, what they mean, where they come from. The type of a row, what is
 * written, both forms on disk, readers, the viewer and the tables of docs/run-directory.md follow from the declaration.
 */

interface Values {
  readonly STRING: string;
  readonly INT32: number;
  readonly DOUBLE: number;
  readonly BOOLEAN: boolean;
  /** Lists and objects. */
  readonly JSON: unknown;
}
type ColumnType = keyof Values;

export interface Column<Value = unknown, Source = never> {
  readonly type: ColumnType;
  /** One line of the documentation. */
  readonly meaning: string;
  readonly nullable: boolean;
  /** Whether its values are long, so that lists leave it out and it is read for a few rows at a time. */
  readonly long: boolean;
  /** The value that is written. */
  readonly from: (source: Source) => Value;
}

export type Columns<Source = never> = Readonly<Record<string, Column<unknown, Source>>>;

/** The row that a declaration describes. */
export type RowOf<Declared> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Column<infer Value, never> ? Value : never;
};

interface ColumnOptions {
  readonly long?: boolean;
}

/** The two ways to declare a column whose value is computed from a `Source`: one that every row has, and one that may be null. */
export function columnsFrom<Source>() {
  function column<Type extends ColumnType, Value extends Values[Type] = Values[Type]>(
    type: Type,
    meaning: string,
    from: (source: Source) => NoInfer<Value>,
    { long = false }: ColumnOptions = {},
  ): Column<Value, Source> {
    return { type, meaning, nullable: false, long, from };
  }
  function nullable<Type extends ColumnType, Value extends Values[Type] = Values[Type]>(
    type: Type,
    meaning: string,
    from: (source: Source) => NoInfer<Value> | null,
    { long = false }: ColumnOptions = {},
  ): Column<Value | null, Source> {
    return { type, meaning, nullable: true, long, from };
  }
  return { column, nullable };
}

/** The row of a source, its values in the order of the declaration. */
export function makeRow<Declared extends Columns<Source>, Source>(columns: Declared, source: Source): RowOf<Declared> {
  const values = Object.entries(columns).map(([name, { from }]) => [name, from(source)]);
  return Object.fromEntries(values) as RowOf<Declared>;
}

/** The declaration as a table of the documentation. */
export function columnTable(columns: Columns): string {
  const rows = Object.entries(columns).map(([name, { type, nullable, meaning }]) => [
    `\`${name}\``,
    `${typeWords[type]}${nullable ? ' or null' : ''}`,
    meaning,
  ]);
  return markdownTable([['column', 'type', 'meaning'], ...rows]);
}

const typeWords: Readonly<Record<ColumnType, string>> = {
  STRING: 'text',
  INT32: 'whole number',
  DOUBLE: 'number',
  BOOLEAN: 'boolean',
  JSON: 'JSON',
};

function markdownTable([head, ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i].length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
