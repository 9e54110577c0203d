/**
 * Plain Python values on the trusted side, and what == means for them. int is bigint, float is number, list is an
 * array, str is a string. Equality is Python's: 1 == 1.0 == True, list ≠ tuple, str ≠ everything else, dicts and sets
 * by content, and NaN equals nothing. Values of other types, subclasses included, have no form here: they equal nothing.
 */
export class PythonTuple {
  readonly items: readonly PythonValue[];
  constructor(items: readonly PythonValue[]) {
    this.items = items;
  }
}

export class PythonSet {
  readonly items: readonly PythonValue[];
  constructor(items: readonly PythonValue[]) {
    this.items = items;
  }
}

export class PythonDict {
  readonly entries: readonly (readonly [PythonValue, PythonValue])[];
  constructor(entries: readonly (readonly [PythonValue, PythonValue])[]) {
    this.entries = entries;
  }
}

export type PythonValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly PythonValue[]
  | PythonTuple
  | PythonSet
  | PythonDict;

type PythonNumber = boolean | bigint | number;

function isNumber(value: PythonValue): value is PythonNumber {
  return typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'number';
}

function asNumber(value: PythonNumber): bigint | number {
  return typeof value === 'boolean' ? BigInt(value) : value;
}

function equalNumbers(a: PythonNumber, b: PythonNumber): boolean {
  // Between bigint and number, JavaScript's == compares the exact mathematical values, as Python does.
  // biome-ignore lint/suspicious/noDoubleEquals: mixed bigint and number equality has no strict form
  return asNumber(a) == asNumber(b);
}

function equalItems(a: readonly PythonValue[], b: readonly PythonValue[]): boolean {
  return a.length === b.length && a.every((item, index) => equalPython(item, b[index]));
}

/** A key that two hashable values share exactly when they are equal. */
function keyOf(value: PythonValue): string {
  if (value === null) return 'none';
  if (typeof value === 'string') return `s${value}`;
  if (isNumber(value)) {
    const number = asNumber(value);
    return `n${typeof number === 'number' && Number.isInteger(number) ? BigInt(number) : number}`;
  }
  const items = value instanceof PythonTuple ? value.items : [];
  return `t${JSON.stringify(items.map(keyOf))}`;
}

// Forged bytes may repeat a key, so both sides are compared by their distinct keys.
function equalSets(a: PythonSet, b: PythonSet): boolean {
  const left = new Set(a.items.map(keyOf));
  const right = new Set(b.items.map(keyOf));
  return left.size === right.size && [...left].every((key) => right.has(key));
}

function equalDicts(a: PythonDict, b: PythonDict): boolean {
  const left = new Map(a.entries.map(([key, value]) => [keyOf(key), value]));
  const right = new Map(b.entries.map(([key, value]) => [keyOf(key), value]));
  return (
    left.size === right.size &&
    [...left].every(([key, value]) => {
      const other = right.get(key);
      return other !== undefined && equalPython(value, other);
    })
  );
}

export function equalPython(a: PythonValue, b: PythonValue): boolean {
  if (isNumber(a)) return isNumber(b) && equalNumbers(a, b);
  if (a === null || typeof a === 'string') return a === b;
  if (a instanceof PythonTuple) return b instanceof PythonTuple && equalItems(a.items, b.items);
  if (a instanceof PythonDict) return b instanceof PythonDict && equalDicts(a, b);
  if (a instanceof PythonSet) return b instanceof PythonSet && equalSets(a, b);
  return Array.isArray(b) && equalItems(a, b);
}

/** Whether the value contains a NaN: such a value does not even equal itself. */
export function holdsNaN(value: PythonValue): boolean {
  if (typeof value === 'number') return Number.isNaN(value);
  if (value === null || typeof value !== 'object') return false;
  if (value instanceof PythonDict) return value.entries.some(([key, item]) => holdsNaN(key) || holdsNaN(item));
  return (value instanceof PythonTuple || value instanceof PythonSet ? value.items : value).some(holdsNaN);
}
