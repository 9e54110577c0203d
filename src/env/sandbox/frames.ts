/** What the sandboxed side is told, as harness.py and own_tests.py read it: marshal of (kind, arguments). */
import { encodeMarshal } from '../marshal.ts';
import type { PythonValue } from '../python-value.ts';
import { PythonDict, PythonTuple } from '../python-value.ts';

/** How a result is read back as plain values: as it is, or a linked list or tree node by node. */
export type Shape = 'plain' | 'list' | 'tree';

export interface Builder {
  readonly shape: 'list' | 'tree';
  /** Where in the arguments: a position or a keyword first, then indices. */
  readonly path: readonly (number | string)[];
}

export interface Call {
  readonly positional: readonly PythonValue[];
  readonly keywords: readonly (readonly [name: string, value: PythonValue])[];
  readonly builders: readonly Builder[];
  readonly shape: Shape;
}

function tuple(...items: readonly PythonValue[]): PythonTuple {
  return new PythonTuple(items);
}

export function encodeCalls(calls: readonly Call[]): Buffer {
  return encodeMarshal(
    calls.map(({ positional, keywords, builders, shape }) => {
      const paths = builders.map((builder) =>
        tuple(
          builder.shape,
          builder.path.map((step) => (typeof step === 'number' ? BigInt(step) : step)),
        ),
      );
      return tuple(positional, new PythonDict(keywords), paths, shape);
    }),
  );
}

/** A tuple of values of which some are encoded already. */
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
  readonly source: string;
  readonly method: string;
  readonly flagNames: readonly string[];
  readonly calls: Buffer;
}

export function encodeProgramFrame({ source, method, flagNames, calls }: ProgramFrame): Buffer {
  return encodeTuple(['program', encodeTuple([source, method, tuple(...flagNames), calls])]);
}

export interface OwnTestsFrame {
  readonly source: string;
  readonly method: string;
  readonly functionName: string;
  readonly canonical: string;
  readonly stages: string;
}

export function encodeOwnTestsFrame({ source, method, functionName, canonical, stages }: OwnTestsFrame): Buffer {
  return encodeTuple(['own_tests', tuple(source, method, functionName, canonical, stages)]);
}
