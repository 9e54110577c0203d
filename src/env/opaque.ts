/**
 * Outputs that have no plain form: objects of a program's own types, alone or inside lists and tuples. Whether such an object
 * only claims to be equal is found out without showing it the expected value: its plain parts are compared here, and what is
 * left must equal a decoy, a value of the expected one's type that is wrong. Only what equals anything passes that.
 */
import { sha256 } from '../base/node/index.ts';
import { decodeMarshal, encodeMarshal } from './marshal.ts';
import { equalPython, PythonDict, PythonSet, PythonTuple, type PythonValue, SurrogateText } from './python-value.ts';

export interface OpaqueOutput {
  /** Index of the test. */
  readonly index: number;
  /** Marshal of the plain parts and the paths of the others, as harness.py sends it. */
  readonly parts: Buffer;
  readonly expected: PythonValue;
}

/** The most bytes of parts that harness.py sends for one program (LARGEST_SKELETONS). More is a forgery. */
const mostPartsBytes = 32 << 10;

type Path = readonly number[];

function itemsOf(value: PythonValue): readonly PythonValue[] | null {
  if (Array.isArray(value)) return value as readonly PythonValue[];
  return value instanceof PythonTuple ? value.items : null;
}

function readPath(value: PythonValue): Path {
  if (!Array.isArray(value)) throw new RangeError('a path that is no list');
  return value.map((step: PythonValue) => {
    if (typeof step !== 'bigint' || step < 0n || step > 1_000_000n) throw new RangeError('a step that is no index');
    return Number(step);
  });
}

function readParts(parts: Buffer): { readonly plain: PythonValue; readonly paths: readonly Path[] } {
  const message = decodeMarshal(parts);
  const items = message instanceof PythonTuple ? message.items : [];
  if (items.length !== 2 || !Array.isArray(items[1])) throw new RangeError('parts in another form');
  return { plain: items[0], paths: items[1].map(readPath) };
}

function valueAt(value: PythonValue, path: Path): PythonValue {
  return path.reduce<PythonValue>((holder, step) => {
    const item = itemsOf(holder)?.[step];
    if (item === undefined) throw new RangeError('a path that leads nowhere');
    return item;
  }, value);
}

/**
 * The value with `part` at the path. The value is changed where it lies: it was decoded for this, and a copy for each path would
 * take time in proportion to the square of what a program sends.
 */
function withPart(value: PythonValue, path: Path, part: PythonValue): PythonValue {
  const last = path.at(-1);
  if (last === undefined) return part;
  const items = itemsOf(valueAt(value, path.slice(0, -1)));
  if (items === null || last >= items.length) throw new RangeError('a path that leads nowhere');
  (items as PythonValue[])[last] = part;
  return value;
}

/** A wrong value of the same type, the same at every grading of the problem. Only the type is taken from the expected value. */
function decoyOf(expected: PythonValue, seed: string): PythonValue {
  if (typeof expected === 'boolean') return !expected;
  for (let attempt = 0; ; attempt += 1) {
    const digits = sha256(`decoy ${seed} ${attempt}`);
    const number = BigInt(`0x${digits.slice(0, 7)}`);
    const decoy = decoyLike(expected, number, digits.slice(0, 12));
    if (!equalPython(decoy, expected)) return decoy;
  }
}

function decoyLike(expected: PythonValue, number: bigint, text: string): PythonValue {
  if (typeof expected === 'number') return Number(number) + 0.5;
  if (typeof expected === 'string' || expected instanceof SurrogateText) return text;
  if (expected === null || typeof expected !== 'object') return number;
  if (expected instanceof PythonTuple) return new PythonTuple([number, number + 1n]);
  if (expected instanceof PythonSet) return new PythonSet([number, number + 1n]);
  if (expected instanceof PythonDict) return new PythonDict([[text, number]]);
  return [number, number + 1n];
}

/** A decoy for every opaque part of an output, or null when its plain parts are not those of the expected value. */
function decoysFor(problemId: string, { index, parts, expected }: OpaqueOutput): readonly PythonValue[] | null {
  try {
    const { plain, paths } = readParts(parts);
    const completed = paths.reduce((value, path) => withPart(value, path, valueAt(expected, path)), plain);
    if (paths.length === 0 || !equalPython(completed, expected)) return null;
    return paths.map((path, at) => decoyOf(valueAt(expected, path), `${problemId} ${index} ${at}`));
  } catch (error) {
    // Parts that cannot be read are a program's own forgery: they equal nothing.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** What the opaque parts are compared with, test by test; null when one of the outputs is wrong already. */
export function encodeDecoys(problemId: string, outputs: readonly OpaqueOutput[]): Buffer | null {
  if (outputs.reduce((sum, { parts }) => sum + parts.length, 0) > mostPartsBytes) return null;
  const entries: [PythonValue, PythonValue][] = [];
  for (const output of outputs) {
    const decoys = decoysFor(problemId, output);
    if (decoys === null) return null;
    entries.push([BigInt(output.index), decoys]);
  }
  return encodeMarshal(new PythonDict(entries));
}
