/**
 * Plain Python values on the trusted side, and what == means for them. int is bigint, float is number, list is an
 * array, str is a string. Equality is Python's: 1 == 1.0 == True, list ≠ tuple, set == frozenset, str ≠ everything
 * else, dicts and sets by content, and NaN equals nothing. Values of other types, subclasses included, have no form
 * here: they equal nothing. All of it takes time in proportion to the size of the values, because programs choose them.
 */
export class PythonTuple {
  readonly items: readonly PythonValue[];
  constructor(items: readonly PythonValue[]) {
    this.items = items;
  }
}

export class PythonSet {
  readonly items: readonly PythonValue[];
  /** Whether it is a frozenset, which can be an item of a set or a key of a dict. */
  readonly frozen: boolean;
  constructor(items: readonly PythonValue[], frozen = false) {
    this.items = items;
    this.frozen = frozen;
  }
}

export class PythonDict {
  readonly entries: readonly (readonly [PythonValue, PythonValue])[];
  constructor(entries: readonly (readonly [PythonValue, PythonValue])[]) {
    this.entries = entries;
  }
}

/**
 * A str that holds surrogates. Python keeps two of them apart where a JavaScript string would join them to one character,
 * so such a str is kept as its UTF-8 with surrogates passed through, one character for each byte.
 */
export class SurrogateText {
  readonly bytes: string;
  constructor(bytes: string) {
    this.bytes = bytes;
  }
}

/** The str of these code points. */
export function textOfCodePoints(points: readonly number[]): string | SurrogateText {
  const parts = points.map((point) => String.fromCodePoint(point));
  if (!points.some((point) => point >= 0xd800 && point <= 0xdfff)) return parts.join('');
  const bytes = (point: number, text: string): string =>
    point >= 0xd800 && point <= 0xdfff
      ? String.fromCharCode(0xed, 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f))
      : Buffer.from(text).toString('latin1');
  return new SurrogateText(points.map((point, index) => bytes(point, parts[index])).join(''));
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
  | PythonDict
  | SurrogateText;

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

/** Whether Python can hash the value, so that it can be an item of a set or a key of a dict. */
export function isHashable(value: PythonValue): boolean {
  if (value === null || typeof value !== 'object' || value instanceof SurrogateText) return true;
  if (value instanceof PythonTuple) return value.items.every(isHashable);
  // The items of a set are hashable, or there would be no such set.
  return value instanceof PythonSet && value.frozen;
}

/**
 * Numbers hashable values so that equal ones, and only those, get the same number. The text under which a value is kept
 * names its parts by their numbers, so deep nesting makes it no longer. Every NaN gets a number of its own.
 */
class ValueNumbers {
  readonly #numbers = new Map<string, number>();
  #next = 0;

  #numberOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#next += 1;
    this.#numbers.set(text, this.#next);
    return this.#next;
  }

  #ofNumber(value: bigint | number): number {
    if (Number.isNaN(value)) {
      this.#next += 1;
      return this.#next;
    }
    if (typeof value === 'number' && !Number.isInteger(value)) return this.#numberOf(`f${value}`);
    // A power of two as the base takes linear time; base 10 does not.
    return this.#numberOf(`i${BigInt(value).toString(32)}`);
  }

  of(value: PythonValue): number {
    if (value === null) return this.#numberOf('n');
    if (typeof value === 'string') return this.#numberOf(`s${value}`);
    if (isNumber(value)) return this.#ofNumber(asNumber(value));
    if (value instanceof SurrogateText) return this.#numberOf(`x${value.bytes}`);
    if (value instanceof PythonTuple) return this.#numberOf(`t${value.items.map((item) => this.of(item)).join()}`);
    if (value instanceof PythonSet) return this.#numberOf(`z${[...this.ofEach(value.items)].sort().join()}`);
    throw new TypeError('a list or a dict cannot be hashed');
  }

  /** The numbers of the distinct items: forged bytes may repeat an item. */
  ofEach(items: readonly PythonValue[]): Set<number> {
    return new Set(items.map((item) => this.of(item)));
  }

  /** The values of a dict by the numbers of its keys. */
  ofEntries({ entries }: PythonDict): Map<number, PythonValue> {
    return new Map(entries.map(([key, value]) => [this.of(key), value]));
  }
}

function equalSets(a: PythonSet, b: PythonSet): boolean {
  const numbers = new ValueNumbers();
  const left = numbers.ofEach(a.items);
  const right = numbers.ofEach(b.items);
  return left.size === right.size && [...left].every((number) => right.has(number));
}

function equalDicts(a: PythonDict, b: PythonDict): boolean {
  const numbers = new ValueNumbers();
  const left = numbers.ofEntries(a);
  const right = numbers.ofEntries(b);
  return (
    left.size === right.size &&
    [...left].every(([number, value]) => {
      const other = right.get(number);
      return other !== undefined && equalPython(value, other);
    })
  );
}

export function equalPython(a: PythonValue, b: PythonValue): boolean {
  if (isNumber(a)) return isNumber(b) && equalNumbers(a, b);
  if (a === null || typeof a === 'string') return a === b;
  if (a instanceof SurrogateText) return b instanceof SurrogateText && a.bytes === b.bytes;
  if (a instanceof PythonTuple) return b instanceof PythonTuple && equalItems(a.items, b.items);
  if (a instanceof PythonDict) return b instanceof PythonDict && equalDicts(a, b);
  if (a instanceof PythonSet) return b instanceof PythonSet && equalSets(a, b);
  return Array.isArray(b) && equalItems(a, b);
}

/** Whether the value contains a NaN: such a value does not even equal itself. */
export function holdsNaN(value: PythonValue): boolean {
  if (typeof value === 'number') return Number.isNaN(value);
  if (value === null || typeof value !== 'object' || value instanceof SurrogateText) return false;
  if (value instanceof PythonDict) return value.entries.some(([key, item]) => holdsNaN(key) || holdsNaN(item));
  return (value instanceof PythonTuple || value instanceof PythonSet ? value.items : value).some(holdsNaN);
}
