/** Messages to the sandboxed side, as harness.py and own_tests.py read them: marshal of (kind, arguments). */
import { encodeMarshal } from '../marshal.ts';
import type { PythonValue } from '../python-value.ts';
import { PythonDict, PythonTuple } from '../python-value.ts';

/** How a result is read back as plain values: as it is, or a linked list or tree node by node. */
export type ValueShape = 'plain' | 'list' | 'tree';

export interface Builder {
  readonly shape: 'list' | 'tree';
  /** Place in the arguments: a position or a keyword first, then indices. */
  readonly path: readonly (number | string)[];
}

export interface Call {
  readonly positional: readonly PythonValue[];
  readonly keywords: readonly (readonly [name: string, value: PythonValue])[];
  readonly builders: readonly Builder[];
  readonly shape: ValueShape;
}

function tuple(...items: readonly PythonValue[]): PythonTuple {
  return new PythonTuple(items);
}

function callTuple({ positional, keywords, builders, shape }: Call): PythonTuple {
  const paths = builders.map((builder) => {
    const path = builder.path.map((step) => (typeof step === 'number' ? BigInt(step) : step));
    return tuple(builder.shape, path);
  });
  return tuple(positional, new PythonDict(keywords), paths, shape);
}

/** Settings of the server: numbers, texts and lists of texts by name. */
export function encodeConfig(settings: Readonly<Record<string, number | string | readonly string[]>>): Buffer {
  const entries = Object.entries(settings).map(([name, value]) => {
    const known: PythonValue =
      typeof value === 'number' ? BigInt(value) : typeof value === 'string' ? value : [...value];
    return [name, known] as const;
  });
  return encodeMarshal(new PythonDict(entries));
}

/** Encodes one batch of calls, and whether it is the last. */
export function encodeBatch(calls: readonly Call[], last: boolean): Buffer {
  return encodeMarshal(tuple(calls.map(callTuple), last));
}

/** In place of a batch or of decoys: the trusted side wants nothing more of this program. */
export const noMoreFrame: Buffer = encodeMarshal(tuple(null, true));

/** Bytes that stay bytes when the frame is read. */
function encodeBytes(bytes: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header[0] = 0x73;
  header.writeInt32LE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
}

/** Encodes a tuple; items that are buffers are encoded already. */
function encodeTuple(items: readonly (PythonValue | Buffer)[]): Buffer {
  const header = Buffer.alloc(5);
  header[0] = 0x28;
  header.writeInt32LE(items.length, 1);
  return Buffer.concat([
    header,
    ...items.map((item) => (Buffer.isBuffer(item) ? item : encodeMarshal(item as PythonValue))),
  ]);
}

export interface ProgramFrame {
  /** Number that every record of this program carries; a record without it was not written by the harness. */
  readonly nonce: number;
  readonly source: string;
  readonly method: string;
  readonly flagNames: readonly string[];
  /** The first batch of calls. */
  readonly batch: Buffer;
}

export function encodeProgramFrame({ nonce, source, method, flagNames, batch }: ProgramFrame): Buffer {
  return encodeTuple(['program', encodeTuple([BigInt(nonce), source, method, tuple(...flagNames), batch])]);
}

export interface OwnTestsFrame {
  readonly nonce: number;
  readonly source: string;
  readonly method: string;
  readonly functionName: string;
  readonly stages: string;
}

export function encodeOwnTestsFrame({ nonce, source, method, functionName, stages }: OwnTestsFrame): Buffer {
  return encodeTuple(['own_tests', tuple(BigInt(nonce), source, method, functionName, stages)]);
}

export interface AnswerFrame {
  readonly nonce: number;
  readonly source: string;
  readonly method: string;
  /** The call, encoded by encodeCall. */
  readonly call: Buffer;
}

export function encodeCall(call: Call): Buffer {
  return encodeMarshal(callTuple(call));
}

/** One call of a solution, for a process that does nothing else. */
export function encodeAnswerFrame({ nonce, source, method, call }: AnswerFrame): Buffer {
  return encodeTuple(['answer', encodeTuple([BigInt(nonce), source, method, encodeBytes(call)])]);
}
