/** Columns, declared once: rows, writers, readers, the viewer and docs/run-directory.md follow from it. */
interface Values {
  readonly STRING: string;
  readonly INT32: number;
  readonly DOUBLE: number;
  readonly BOOLEAN: boolean;
  readonly JSON: unknown;
}
export type ColumnType = keyof Values;

export interface Column<Value = unknown, Source = never> {
  readonly type: ColumnType;
  readonly meaning: string;
  readonly nullable: boolean;
  /** Whether its values are long, so that lists leave it out and it is read for a few rows at a time. */
  readonly long: boolean;
  readonly from: (source: Source) => Value;
}

export type Columns<Source = never> = Readonly<Record<string, Column<unknown, Source>>>;

export type RowOf<Declared> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Column<infer Value, never> ? Value : never;
};

export type ShortName<Declared> = {
  [Name in keyof Declared]: Declared[Name] extends { readonly long: true } ? never : Name;
}[keyof Declared];

type Length<Long> = { readonly long: Long };

export function columnsFrom<Source>() {
  const column = <Type extends ColumnType, Value extends Values[Type] = Values[Type]>(
    type: Type,
    meaning: string,
    from: (source: Source) => NoInfer<Value>,
  ): Column<Value, Source> & Length<false> => ({ type, meaning, nullable: false, long: false, from });
  const nullable = <Type extends ColumnType, Value extends Values[Type] = Values[Type]>(
    type: Type,
    meaning: string,
    from: (source: Source) => NoInfer<Value> | null,
  ): Column<Value | null, Source> & Length<false> => ({ type, meaning, nullable: true, long: false, from });
  return { column, nullable };
}

export function fieldColumns<Source>(
  fields: {
    readonly [Name in keyof Source]-?: readonly [type: ColumnType, meaning: string];
  },
): { readonly [Name in keyof Source]-?: Column<Source[Name], Source> & Length<false> } {
  const { column } = columnsFrom<Source>();
  const names = Object.keys(fields) as (keyof Source)[];
  const made = names.map((name) => {
    const [type, meaning]: readonly [ColumnType, string] = fields[name];
    return [name, column<ColumnType, unknown>(type, meaning, (source) => source[name])];
  });
  return Object.fromEntries(made);
}

export function long<Value, Source>(column: Column<Value, Source>): Column<Value, Source> & Length<true> {
  return { ...column, long: true };
}

export function makeRow<Declared extends Columns<Source>, Source>(columns: Declared, source: Source): RowOf<Declared> {
  const values = Object.entries(columns).map(([name, { from }]) => [name, from(source)]);
  return Object.fromEntries(values) as RowOf<Declared>;
}
