/**
 * Python's marshal format, version 2, for plain values: how inputs enter the sandbox and outputs leave it. CPython
 * encodes exact builtin types only, so a subclass or an object with its own == cannot be written at all. The decoder is
 * made for hostile input: depth is bounded, every length is checked against the bytes that are left, all else is refused,
 * and the time is in proportion to the bytes.
 */
import { isUtf8 } from 'node:buffer';
import { decodeDigits, digitCount, encodeDigits } from './marshal-digits.ts';
import { isHashable, PythonDict, PythonSet, PythonTuple, type PythonValue, SurrogateText } from './python-value.ts';

const deepest = 200;
const tag = {
  none: 0x4e,
  true: 0x54,
  false: 0x46,
  int: 0x69,
  long: 0x6c,
  float: 0x67,
  complex: 0x79,
  string: 0x75,
  list: 0x5b,
  tuple: 0x28,
  dict: 0x7b,
  end: 0x30,
  set: 0x3c,
  frozenset: 0x3e,
} as const;

/** A buffer that grows, so that a value of many parts does not need an allocation for each. */
class Writer {
  #bytes = Buffer.allocUnsafe(1024);
  #length = 0;

  #room(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * this.#length);
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return at;
  }

  byte(value: number): void {
    const at = this.#room(1);
    this.#bytes[at] = value;
  }

  header(kind: number, count: number): void {
    const at = this.#room(5);
    this.#bytes[at] = kind;
    this.#bytes.writeInt32LE(count, at + 1);
  }

  int(value: bigint): void {
    if (fitsInt(value)) {
      this.header(tag.int, Number(value));
      return;
    }
    const digits = encodeDigits(value);
    this.header(tag.long, value < 0n ? -digits.length / 2 : digits.length / 2);
    this.bytes(digits);
  }

  bytes(value: Buffer): void {
    const at = this.#room(value.length);
    value.copy(this.#bytes, at);
  }

  float(value: number): void {
    const at = this.#room(9);
    this.#bytes[at] = tag.float;
    this.#bytes.writeDoubleLE(value, at + 1);
  }

  string(value: string): void {
    const size = Buffer.byteLength(value);
    this.header(tag.string, size);
    const at = this.#room(size);
    this.#bytes.write(value, at);
  }

  surrogateText(value: SurrogateText): void {
    this.header(tag.string, value.bytes.length);
    this.bytes(Buffer.from(value.bytes, 'latin1'));
  }

  items(kind: number, items: readonly PythonValue[]): void {
    this.header(kind, items.length);
    for (const item of items) this.value(item);
  }

  dict(value: PythonDict): void {
    this.byte(tag.dict);
    for (const [key, item] of value.entries) {
      this.value(key);
      this.value(item);
    }
    this.byte(tag.end);
  }

  value(value: PythonValue): void {
    if (value === null) this.byte(tag.none);
    else if (typeof value === 'boolean') this.byte(value ? tag.true : tag.false);
    else if (typeof value === 'bigint') this.int(value);
    else if (typeof value === 'number') this.float(value);
    else if (typeof value === 'string') this.string(value);
    else if (value instanceof PythonTuple) this.items(tag.tuple, value.items);
    else if (value instanceof PythonSet) this.items(value.frozen ? tag.frozenset : tag.set, value.items);
    else if (value instanceof PythonDict) this.dict(value);
    else if (value instanceof SurrogateText) this.surrogateText(value);
    else this.items(tag.list, value);
  }

  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }
}

function fitsInt(value: bigint): boolean {
  return value >= -(2n ** 31n) && value < 2n ** 31n;
}

export function encodeMarshal(value: PythonValue): Buffer {
  const writer = new Writer();
  writer.value(value);
  return writer.finish();
}

const complexBytes = 17;

function intBytes(value: bigint): number {
  return fitsInt(value) ? 5 : 5 + 2 * digitCount(value);
}

/** The most bytes that any value equal to this one can take: a bool may come back as a float, a float as the int it equals. */
export function largestEqualEncoding(value: PythonValue): number {
  if (value === null) return 1;
  if (typeof value === 'bigint') return Math.max(complexBytes, intBytes(value));
  if (typeof value === 'boolean') return complexBytes;
  if (typeof value === 'number') {
    return Number.isInteger(value) ? Math.max(complexBytes, intBytes(BigInt(value))) : complexBytes;
  }
  if (typeof value === 'string') return 5 + Buffer.byteLength(value);
  if (value instanceof SurrogateText) return 5 + value.bytes.length;
  if (value instanceof PythonDict) return 2 + sumEncodings(value.entries.flat());
  return 5 + sumEncodings(value instanceof PythonTuple || value instanceof PythonSet ? value.items : value);
}

function sumEncodings(items: readonly PythonValue[]): number {
  return items.reduce<number>((sum, item) => sum + largestEqualEncoding(item), 0);
}

/** A str with surrogates: between them, each written as three bytes that begin with 0xED, stands valid UTF-8. */
function surrogateText(bytes: Buffer): SurrogateText {
  let valid = 0;
  for (let at = bytes.indexOf(0xed); at >= 0; at = bytes.indexOf(0xed, at + 1)) {
    const isSurrogate = (bytes[at + 1] ?? 0) >> 5 === 0b101 && (bytes[at + 2] ?? 0) >> 6 === 0b10;
    if (!isSurrogate) continue;
    if (!isUtf8(bytes.subarray(valid, at))) throw new RangeError('marshal: a str that is not UTF-8');
    valid = at + 3;
  }
  if (!isUtf8(bytes.subarray(valid))) throw new RangeError('marshal: a str that is not UTF-8');
  return new SurrogateText(bytes.toString('latin1'));
}

interface DecodeOptions {
  /** Items of sets and keys of dicts at most. */
  readonly mostHashed?: number;
  /** Whether a complex number is read, as a number that compares as it does; false where the value itself is wanted. */
  readonly hasComplex?: boolean;
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  readonly #hasComplex: boolean;
  #hashedLeft: number;

  constructor(bytes: Buffer, { mostHashed = Number.POSITIVE_INFINITY, hasComplex = true }: DecodeOptions) {
    this.#bytes = bytes;
    this.#hasComplex = hasComplex;
    this.#hashedLeft = mostHashed;
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
      case tag.complex:
        return this.complex();
      case tag.string:
        return this.text();
      case tag.list:
        return this.items(depth);
      case tag.tuple:
        return new PythonTuple(this.items(depth));
      case tag.set:
      case tag.frozenset:
        return new PythonSet(
          this.items(depth).map((item) => this.hashable(item)),
          kind === tag.frozenset,
        );
      case tag.dict:
        return this.dict(depth);
      default:
        throw new RangeError(`marshal: type ${kind} is not a plain value`);
    }
  }

  long(): bigint {
    const count = this.take(4).readInt32LE();
    const value = decodeDigits(this.take(Math.abs(count) * 2));
    return count < 0 ? -value : value;
  }

  /** A complex number without an imaginary part equals its real part; any other equals no value that a test can state. */
  complex(): number {
    if (!this.#hasComplex) throw new RangeError('marshal: a complex number');
    const bytes = this.take(16);
    return bytes.readDoubleLE(8) === 0 ? bytes.readDoubleLE(0) : Number.NaN;
  }

  text(): string | SurrogateText {
    const bytes = this.take(this.take(4).readInt32LE());
    return isUtf8(bytes) ? bytes.toString('utf8') : surrogateText(bytes);
  }

  hashable(value: PythonValue): PythonValue {
    if (!isHashable(value)) throw new RangeError('marshal: an item of a set or a key of a dict that cannot be hashed');
    this.#hashedLeft -= 1;
    if (this.#hashedLeft < 0) throw new RangeError('marshal: too many items of sets and keys of dicts');
    return value;
  }

  items(depth: number): PythonValue[] {
    const count = this.take(4).readInt32LE();
    // Every item takes at least one byte: a larger count is false, and nothing must be allocated for it.
    if (count < 0 || count > this.left) throw new RangeError(`marshal: ${count} items in ${this.left} bytes`);
    return Array.from({ length: count }, () => this.value(depth + 1));
  }

  dict(depth: number): PythonDict {
    const entries: [PythonValue, PythonValue][] = [];
    while (this.#bytes[this.#at] !== tag.end) {
      entries.push([this.hashable(this.value(depth + 1)), this.value(depth + 1)]);
    }
    this.take(1);
    return new PythonDict(entries);
  }
}

/** Decodes exactly one plain value; throws RangeError on anything else. */
export function decodeMarshal(bytes: Buffer, options: DecodeOptions = {}): PythonValue {
  const reader = new Reader(bytes, options);
  const value = reader.value(0);
  if (reader.left > 0) throw new RangeError(`marshal: ${reader.left} bytes after the value`);
  return value;
}
