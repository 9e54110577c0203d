/**
 * The header of a safetensors file: 8 bytes little-endian length, then JSON { name: { dtype, shape, data_offsets } },
 * then the data. Validated as the format asks: no duplicate keys, the byte ranges follow one another without gap or
 * overlap, each as long as its shape says, and together exactly the rest of the file.
 * https://github.com/huggingface/safetensors#format
 */
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { isObject, parseJson, refuseDuplicateKeys, show } from './json.ts';

export type SafetensorsDType = 'F32' | 'F16' | 'BF16' | 'I32' | 'I64';
export const safetensorsBytes: Readonly<Record<SafetensorsDType, number>> = { F32: 4, F16: 2, BF16: 2, I32: 4, I64: 8 };

/** Where a tensor lies, in bytes from the start of the file. */
export interface SafetensorsEntry {
  readonly name: string;
  readonly dtype: SafetensorsDType;
  readonly shape: readonly number[];
  readonly start: number;
  readonly end: number;
}

export interface SafetensorsHeader {
  readonly metadata: Readonly<Record<string, string>>;
  /** The tensors in the order of their bytes. */
  readonly entries: ReadonlyMap<string, SafetensorsEntry>;
}

export const lengthBytes = 8;
/** The limit of the reference implementation. */
const mostHeaderBytes = 100_000_000;

function complaint(file: string, expected: string, found: string, tensor?: string): UserError {
  return new UserError({ call: `read ${file}${tensor === undefined ? '' : `, tensor ${tensor}`}`, expected, found });
}

/** Length of the JSON part, from the first 8 bytes of a file of `fileBytes` bytes. */
export function parseHeaderLength(prefix: Uint8Array, fileBytes: number, file: string): number {
  if (prefix.length < lengthBytes) {
    throw complaint(file, 'a safetensors file of at least 8 bytes', `${fileBytes} bytes`);
  }
  const length = new DataView(prefix.buffer, prefix.byteOffset, lengthBytes).getBigUint64(0, true);
  const most = Math.min(mostHeaderBytes, fileBytes - lengthBytes);
  if (length < 2n || length > BigInt(most)) {
    const expected = `a header of 2 to ${most} bytes in a file of ${fileBytes} bytes`;
    throw complaint(file, expected, `a header length of ${length}: truncated, or not a safetensors file`);
  }
  return Number(length);
}

export function parseHeader(bytes: Uint8Array, fileBytes: number, file: string): SafetensorsHeader {
  const text = decodeHeader(bytes, file);
  const header = parseJson(text, file);
  refuseDuplicateKeys(text, file);
  if (!isObject(header) || !text.startsWith('{')) {
    throw complaint(file, 'a header that is a JSON object', show(header));
  }
  const { __metadata__: metadata = {}, ...tensors } = header;
  const dataStart = lengthBytes + bytes.length;
  const entries = Object.entries(tensors).map(([name, entry]) => parseEntry(name, entry, dataStart, file));
  entries.sort((a, b) => a.start - b.start || a.end - b.end);
  refuseGaps(entries, dataStart, fileBytes, file);
  return { metadata: parseMetadata(metadata, file), entries: new Map(entries.map((entry) => [entry.name, entry])) };
}

function decodeHeader(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new UserError({ call: `read ${file}`, expected: 'a header in UTF-8', found: 'other bytes' }, { cause });
  }
}

/** The metadata as pairs: a zod object would lose a key named __proto__. */
const metadataPairs = z.array(z.tuple([z.string(), z.string()]));

function parseMetadata(metadata: unknown, file: string): Record<string, string> {
  const result = metadataPairs.safeParse(isObject(metadata) ? Object.entries(metadata) : null);
  if (result.success) return Object.fromEntries(result.data);
  throw complaint(file, '__metadata__ that maps strings to strings', show(metadata));
}

const index = z.number().int().min(0);
const dtypes = Object.keys(safetensorsBytes) as SafetensorsDType[];
const offsets = 'data_offsets [start, end]';

const entryPart = z.strictObject(
  {
    dtype: z.enum(dtypes, { error: `a dtype of ${dtypes.join(', ')}` }),
    shape: z.array(index, { error: 'a shape of whole numbers ≥ 0' }),
    data_offsets: z.tuple([index, index], { error: offsets }),
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? 'only dtype, shape and data_offsets'
        : 'an object with dtype, shape and data_offsets',
  },
);

function parseEntry(name: string, entry: unknown, dataStart: number, file: string): SafetensorsEntry {
  const result = entryPart.safeParse(entry);
  if (!result.success) throw entryComplaint(result.error.issues[0], name, entry, file);
  const { dtype, shape, data_offsets } = result.data;
  const [start, end] = data_offsets;
  const bytes = shape.reduce((product, axis) => product * axis, safetensorsBytes[dtype]);
  if (end - start !== bytes) {
    throw complaint(file, `${bytes} bytes for ${dtype}[${shape.join(',')}]`, `data_offsets [${start}, ${end}]`, name);
  }
  return { name, dtype, shape, start: dataStart + start, end: dataStart + end };
}

/** A wrong number inside a list is shown with its list. */
function entryComplaint(issue: z.core.$ZodIssue, name: string, entry: unknown, file: string): UserError {
  if (issue.code === 'unrecognized_keys') return complaint(file, issue.message, `the key ${show(issue.keys[0])}`, name);
  const [key] = issue.path;
  const found = isObject(entry) && key !== undefined ? entry[String(key)] : entry;
  const inside = issue.path.length > 1;
  const expected = !inside ? issue.message : key === 'shape' ? 'a shape of whole numbers ≥ 0' : offsets;
  return complaint(file, expected, show(found), name);
}

function refuseGaps(entries: readonly SafetensorsEntry[], dataStart: number, fileBytes: number, file: string): void {
  let at = dataStart;
  for (const { name, start, end } of entries) {
    if (start !== at) {
      const found = `byte ${start}: ${start < at ? 'overlaps the tensor before' : 'a gap'}`;
      throw complaint(file, `data from byte ${at}`, found, name);
    }
    if (end > fileBytes) {
      throw complaint(file, `data up to byte ${end}`, `a file of ${fileBytes} bytes: truncated`, name);
    }
    at = end;
  }
  if (at !== fileBytes) throw complaint(file, `${at} bytes in all`, `${fileBytes} bytes`);
}

export interface TensorShape {
  readonly name: string;
  readonly dtype: SafetensorsDType;
  readonly shape: readonly number[];
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function orderTensors<Tensor extends TensorShape>(tensors: readonly Tensor[], path: string): Tensor[] {
  const names = new Set<string>();
  for (const { name } of tensors) {
    if (names.has(name) || name === '__metadata__') {
      throw new UserError({ call: `write ${path}`, expected: 'distinct tensor names', found: `a second ${name}` });
    }
    names.add(name);
  }
  return [...tensors].sort(
    (a, b) => safetensorsBytes[b.dtype] - safetensorsBytes[a.dtype] || compareText(a.name, b.name),
  );
}

export function sizeOfTensor({ dtype, shape }: TensorShape): number {
  return shape.reduce((product, axis) => product * axis, safetensorsBytes[dtype]);
}

export function headerOf(tensors: readonly TensorShape[], metadata: Readonly<Record<string, string>>): Uint8Array {
  const sorted = Object.entries(metadata).sort(([a], [b]) => compareText(a, b));
  const entries: [string, unknown][] = sorted.length === 0 ? [] : [['__metadata__', Object.fromEntries(sorted)]];
  let start = 0;
  for (const tensor of tensors) {
    const end = start + sizeOfTensor(tensor);
    entries.push([tensor.name, { dtype: tensor.dtype, shape: tensor.shape, data_offsets: [start, end] }]);
    start = end;
  }
  // The header is written pair by pair: an object would move names that look like numbers to the front.
  const text = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
  const json = new TextEncoder().encode(text);
  const padded = Math.ceil(json.length / 8) * 8;
  const bytes = new Uint8Array(lengthBytes + padded).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(padded), true);
  bytes.set(json, lengthBytes);
  return bytes;
}
