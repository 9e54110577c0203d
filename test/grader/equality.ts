/** Compares the trusted side's equality with Python's own ==, on random pairs of values that are often nearly the same. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Comparer, prepareExpected } from '../../src/env/compare.ts';
import { decodeMarshal } from '../../src/env/marshal.ts';
import { ExpressionParser } from '../../src/env/python-literal.ts';
import { equalPython, holdsNaN, type PythonValue } from '../../src/env/python-value.ts';

const drawFile = fileURLToPath(new URL('./equality.py', import.meta.url));
const shapesFolder = fileURLToPath(new URL('../../src/env/sandbox', import.meta.url));

interface Pair {
  readonly shape: 'plain' | 'tree';
  readonly equal: boolean;
  readonly expected: Buffer;
  readonly given: Buffer;
  /** The expected value as Python writes it; empty where that is no literal. */
  readonly literal: string;
}

function readPairs(bytes: Buffer): readonly Pair[] {
  const pairs: Pair[] = [];
  let at = 0;
  const take = (count: number): Buffer => {
    at += count;
    return bytes.subarray(at - count, at);
  };
  const part = (): Buffer => take(take(4).readUInt32LE());
  while (at < bytes.length) {
    const [kind, equal] = take(2).toString('latin1');
    pairs.push({
      shape: kind === 't' ? 'tree' : 'plain',
      equal: equal === '1',
      expected: part(),
      given: part(),
      literal: part().toString(),
    });
  }
  return pairs;
}

function parseLiteral(text: string): PythonValue {
  const expression = new ExpressionParser(text).expression();
  if (expression.kind !== 'literal') throw new Error(`not a literal: ${text}`);
  return expression.value;
}

export interface EqualityReport {
  readonly pairs: number;
  readonly equal: number;
  /** What differs from Python, with the literal or the bytes. */
  readonly differences: readonly string[];
}

/** What differs from Python for one pair: by decoded values in both directions, and as the judge compares. */
function differencesOf({ shape, equal, expected, given, literal }: Pair): readonly string[] {
  const name = `${literal === '' ? expected.toString('hex') : literal} against ${given.toString('hex')}`;
  const value = decodeMarshal(expected);
  const other = decodeMarshal(given);
  const test = { positional: [], keywords: [], builders: [], shape, expected: value, tolerance: null };
  const found: string[] = [];
  if (shape === 'plain' && (equalPython(value, other) !== equal || equalPython(other, value) !== equal))
    found.push('==');
  // A test never expects NaN, which equals nothing: its bytes are the only thing of it that can be the same.
  if (!holdsNaN(value) && (new Comparer().wrongness(given, prepareExpected(test)) === '') !== equal)
    found.push('judge');
  if (literal !== '' && !equalPython(parseLiteral(literal), value)) found.push('literal');
  return found.map((kind) => `${kind}: ${name}, Python says ${equal}`);
}

export function compareWithPython(pairs: number, seed: number): EqualityReport {
  const bytes = execFileSync('python3', [drawFile, String(seed), String(pairs), shapesFolder], { maxBuffer: 1 << 30 });
  const drawn = readPairs(bytes);
  return {
    pairs: drawn.length,
    equal: drawn.filter(({ equal }) => equal).length,
    differences: drawn.flatMap(differencesOf),
  };
}
