/**
 * Python's marshal format, version 2, for plain values: how inputs enter the sandbox and outputs leave it. CPython
 * encodes exact builtin types only, so a subclass or an object with its own == cannot be written at all. The decoder is
 * for hostile input: bounded depth, every length checked against what is there, anything else refused.
 */
import type { PythonValue } from './python-value.ts';
import { PythonDict, PythonSet, PythonTuple } from './python-value.ts';

const deepest = 200;
const digitBits = 15n;
const tag = {
  none: 0x4e,
  true: 0x54,
  false: 0x46,
  int: 0x69,
  long: 0x6c,
  float: 0x67,
  string: 0x75,
  list: 0x5b,
  tuple: 0x28,
  dict: 0x7b,
  end: 0x30,
  set: 0x3c,
  frozenset: 0x3e,
} as const;

function header(kind: number, count: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes[0] = kind;
  bytes.writeInt32LE(count, 1);
  return bytes;
}

function encodeInt(value: bigint): Buffer {
  if (value >= -(2n ** 31n) && value < 2n ** 31n) return header(tag.int, Number(value));
  const digits: number[] = [];
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= digitBits) digits.push(Number(rest & 0x7fffn));
  const body = Buffer.alloc(digits.length * 2);
  digits.forEach((digit, index) => {
    body.writeUInt16LE(digit, index * 2);
  });
  return Buffer.concat([header(tag.long, value < 0n ? -digits.length : digits.length), body]);
}

function encodeFloat(value: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = tag.float;
  bytes.writeDoubleLE(value, 1);
  return bytes;
}

function encodeString(value: string): Buffer {
  const text = Buffer.from(value, 'utf8');
  return Buffer.concat([header(tag.string, text.length), text]);
}

function encodeItems(kind: number, items: readonly PythonValue[]): Buffer {
  return Buffer.concat([header(kind, items.length), ...items.map(encodeMarshal)]);
}

function encodeDict(value: PythonDict): Buffer {
  const entries = value.entries.flatMap(([key, item]) => [encodeMarshal(key), encodeMarshal(item)]);
  return Buffer.concat([Buffer.of(tag.dict), ...entries, Buffer.of(tag.end)]);
}

export function encodeMarshal(value: PythonValue): Buffer {
  if (value === null) return Buffer.of(tag.none);
  if (typeof value === 'boolean') return Buffer.of(value ? tag.true : tag.false);
  if (typeof value === 'bigint') return encodeInt(value);
  if (typeof value === 'number') return encodeFloat(value);
  if (typeof value === 'string') return encodeString(value);
  if (value instanceof PythonTuple) return encodeItems(tag.tuple, value.items);
  if (value instanceof PythonSet) return encodeItems(tag.set, value.items);
  return value instanceof PythonDict ? encodeDict(value) : encodeItems(tag.list, value);
}

/** The most bytes that any value equal to this one can take: a bool may come back as a float. */
export function largestEqualEncoding(value: PythonValue): number {
  if (value === null) return 1;
  if (typeof value === 'bigint') return Math.max(9, encodeInt(value).length);
  if (typeof value === 'boolean') return 9;
  // A float may come back as the int it equals.
  if (typeof value === 'number') return Number.isInteger(value) ? Math.max(9, encodeInt(BigInt(value)).length) : 9;
  if (typeof value === 'string') return encodeString(value).length;
  const sum = (items: readonly PythonValue[]) =>
    items.reduce<number>((all, item) => all + largestEqualEncoding(item), 0);
  if (value instanceof PythonDict) return 2 + sum(value.entries.flat());
  return 5 + sum(value instanceof PythonTuple || value instanceof PythonSet ? value.items : value);
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(count: number): Buffer {
    if (count < 0 || count > this.left) throw new RangeError(`marshal: ${count} bytes wanted, ${this.left} left`);
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  value(depth: number): PythonValue {
    if (depth > deepest) throw new RangeError(`marshal: deeper than ${deepest}`);
    const kind = this.take(1)[0];
    switch (kind) {
      case tag.none:
        return null;
      case tag.true:
        return true;
      case tag.false:
        return false;
      case tag.int:
        return BigInt(this.take(4).readInt32LE());
      case tag.long:
        return this.long();
      case tag.float:
        return this.take(8).readDoubleLE();
      case tag.string:
        return this.take(this.take(4).readInt32LE()).toString('utf8');
      case tag.list:
        return this.items(depth);
      case tag.tuple:
        return new PythonTuple(this.items(depth));
      case tag.set:
      case tag.frozenset:
        return new PythonSet(this.items(depth));
      case tag.dict:
        return this.dict(depth);
      default:
        throw new RangeError(`marshal: type ${kind} is not a plain value`);
    }
  }

  long(): bigint {
    const count = this.take(4).readInt32LE();
    const digits = this.take(Math.abs(count) * 2);
    let value = 0n;
    for (let index = Math.abs(count) - 1; index >= 0; index -= 1) {
      value = (value << digitBits) | BigInt(digits.readUInt16LE(index * 2));
    }
    return count < 0 ? -value : value;
  }

  items(depth: number): PythonValue[] {
    const count = this.take(4).readInt32LE();
    // Every item takes a byte: a larger count is a lie, and must not allocate.
    if (count < 0 || count > this.left) throw new RangeError(`marshal: ${count} items in ${this.left} bytes`);
    return Array.from({ length: count }, () => this.value(depth + 1));
  }

  dict(depth: number): PythonDict {
    const entries: [PythonValue, PythonValue][] = [];
    while (this.#bytes[this.#at] !== tag.end) entries.push([this.value(depth + 1), this.value(depth + 1)]);
    this.take(1);
    return new PythonDict(entries);
  }
}

/** Throws RangeError on anything but exactly one plain value. */
export function decodeMarshal(bytes: Buffer): PythonValue {
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (reader.left > 0) throw new RangeError(`marshal: ${reader.left} bytes after the value`);
  return value;
}
