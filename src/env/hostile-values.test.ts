/**
 * Values that programs or problem files choose to hold up the grader. Where an algorithm took quadratic time, the size is such
 * that it would not end within the time limit of a test.
 */
import { describe, expect, test } from 'vitest';
import { Comparer, prepareExpected } from './compare.ts';
import { decodeMarshal, encodeMarshal } from './marshal.ts';
import type { TestCase } from './problem.ts';
import { ExpressionParser } from './python-literal.ts';
import { equalPython, PythonDict, PythonSet, PythonTuple, type PythonValue } from './python-value.ts';
import { parseAssert, UnreadableTest } from './test-cases.ts';

function parse(text: string): PythonValue {
  const expression = new ExpressionParser(text).expression();
  if (expression.kind !== 'literal') throw new Error(`not a literal: ${text}`);
  return expression.value;
}

function expecting(expected: PythonValue, more: Partial<TestCase> = {}): TestCase {
  return { positional: [], keywords: [], builders: [], shape: 'plain', expected, tolerance: null, ...more };
}

function wrongness(given: PythonValue | Buffer, expected: PythonValue, more: Partial<TestCase> = {}): string {
  const payload = Buffer.isBuffer(given) ? given : encodeMarshal(given as PythonValue);
  return new Comparer().wrongness(payload, prepareExpected(expecting(expected, more)));
}

function wrap(item: PythonValue, times: number, make: (item: PythonValue) => PythonValue): PythonValue {
  let wrapped = item;
  for (let level = 0; level < times; level += 1) wrapped = make(wrapped);
  return wrapped;
}

describe('keys', () => {
  test('deep keys of a dict or set are no longer than they are deep', () => {
    for (const make of [
      (item: PythonValue) => new PythonTuple([item]),
      (item: PythonValue) => new PythonTuple([item, '\\"']),
      (item: PythonValue) => new PythonSet([item, 'x'.repeat(1000)], true),
    ]) {
      const [key, same, other] = ['', '', '"'].map((inner) => wrap(inner, 190, make));
      expect(equalPython(new PythonDict([[key, 1n]]), new PythonDict([[same, 1n]]))).toBe(true);
      expect(equalPython(new PythonDict([[key, 1n]]), new PythonDict([[other, 1n]]))).toBe(false);
      expect(equalPython(new PythonSet([key]), new PythonSet([other]))).toBe(false);
    }
  });

  test('a long text in a deep key costs its length once', () => {
    const long = 'x'.repeat(4 << 20);
    const deep = (end: string) => wrap(`${long}${end}`, 190, (item) => new PythonSet([item, 1n, 2n], true));
    expect(equalPython(new PythonSet([deep('a')]), new PythonSet([deep('a')]))).toBe(true);
    expect(equalPython(new PythonSet([deep('a')]), new PythonSet([deep('b')]))).toBe(false);
  });

  test('kinds of values are not mistaken for each other', () => {
    const distinct = [
      '()',
      'frozenset()',
      '((),)',
      'frozenset({()})',
      "''",
      "'()'",
      "('',)",
      "'t'",
      'None',
      "'n'",
      '0',
    ];
    const sets = distinct.map((text) => parse(`{${text}}`));
    for (const [i, a] of sets.entries()) {
      for (const [j, b] of sets.entries()) expect(equalPython(a, b), `${distinct[i]} ${distinct[j]}`).toBe(i === j);
    }
    expect(equalPython(parse('{frozenset({1, 2}), (1, 2)}'), parse('{(True, 2.0), frozenset([2, 1, 1.0])}'))).toBe(
      true,
    );
    expect(equalPython(parse('{1, 2}'), parse('frozenset((2, 1))'))).toBe(true);
  });

  test('what Python cannot hash is in no set', () => {
    for (const inner of ['[]', '{}', '{1}', '([],)']) expect(() => parse(`{${inner}}`)).toThrow(/hashed/);
    const forged = Buffer.concat([Buffer.from('3c01000000', 'hex'), encodeMarshal([])]);
    expect(() => decodeMarshal(forged)).toThrow(RangeError);
    expect(wrongness(forged, new PythonSet([new PythonTuple([])]))).toBe('wrong value');
  });
});

describe('large ints', () => {
  test('ten million bits are written and read', () => {
    const large = (1n << 10_000_000n) - 12_345n;
    expect(decodeMarshal(encodeMarshal(large)) === large).toBe(true);
    expect(decodeMarshal(encodeMarshal(-large)) === -large).toBe(true);
  });

  test('every length of a few digits is written as Python writes it', () => {
    for (let bits = 31n; bits < 200n; bits += 1n) {
      for (const value of [1n << bits, (1n << bits) - 1n, -(1n << bits) - 1n]) {
        expect(decodeMarshal(encodeMarshal(value))).toBe(value);
      }
    }
    expect(encodeMarshal(1n << 31n).toString('hex')).toBe('6c03000000000000000200');
  });

  test('digits that Python would not write are refused', () => {
    expect(() => decodeMarshal(Buffer.from('6c0200000001000000', 'hex'))).toThrow(RangeError);
    expect(() => decodeMarshal(Buffer.from('6c01000000ffff', 'hex'))).toThrow(RangeError);
  });
});

describe('texts', () => {
  test('surrogates are compared as themselves', () => {
    const texts = ["'\\ud800'", "'\\udfff'", "'\\ufffd'", "'\\ud83d\\ude00'", "'\\U0001f600'", "'😀'", "'a\\udc80'"];
    const values = texts.map(parse);
    for (const [i, a] of values.entries()) {
      for (const [j, b] of values.entries()) {
        const same = i === j || (i > 3 && i < 6 && j > 3 && j < 6);
        expect(equalPython(a, b), `${texts[i]} ${texts[j]}`).toBe(same);
        expect(equalPython(decodeMarshal(encodeMarshal(a)), b)).toBe(same);
        expect(equalPython(new PythonSet([a]), new PythonSet([b]))).toBe(same);
      }
    }
    expect(() => decodeMarshal(Buffer.from('7501000000ff', 'hex'))).toThrow(RangeError);
    expect(() => decodeMarshal(Buffer.from('7502000000eda0', 'hex'))).toThrow(RangeError);
  });
});

describe('trees', () => {
  // What sandbox/shapes.py gives back: the places that have a node, and the values.
  const tree = (marks: string, ...values: PythonValue[]) => new PythonTuple([marks, values]);
  test('a node whose value is None is a node', () => {
    expect(wrongness(tree('1', 1n), [1n], { shape: 'tree' })).toBe('');
    expect(wrongness(tree('11', 1n, null), [1n], { shape: 'tree' })).toBe('wrong value');
    expect(wrongness(tree('1', null), [null], { shape: 'tree' })).toBe('');
    expect(wrongness(tree(''), [null], { shape: 'tree' })).toBe('wrong value');
    expect(wrongness(tree(''), [], { shape: 'tree' })).toBe('');
    expect(wrongness(tree('101', 1n, 2n), [1n, null, 2n, null, null, 9n], { shape: 'tree' })).toBe('');
  });
});

describe('limits', () => {
  test('what is too large to compare is wrong, and says so; the same bytes are right at any size', () => {
    const ints = Array.from({ length: 300_000 }, (_, index) => BigInt(index));
    expect(wrongness(ints, ints)).toBe('');
    expect(wrongness(ints.map(Number), ints)).toBe('too large to compare');
    expect(wrongness([...ints, ...ints, ...ints, ...ints], ints)).toBe('wrong value');
  });

  test('one program has a limit for all its outputs together', () => {
    const ints = Array.from({ length: 100_000 }, (_, index) => BigInt(index));
    const comparer = new Comparer();
    const expected = prepareExpected(expecting(ints));
    const payload = encodeMarshal(ints.map(Number));
    const answers = Array.from({ length: 6 }, () => comparer.wrongness(payload, expected));
    expect([answers[0], answers[5]]).toEqual(['', 'too large to compare']);
  });

  test('a tolerance is exact between ints, takes bools, and reads no large value', () => {
    const near = { tolerance: 1e-5 };
    expect(wrongness(1.000001, 1, near)).toBe('');
    expect(wrongness(true, 1, near)).toBe('');
    expect(wrongness(2n ** 53n + 1n, 2n ** 53n, near)).toBe('wrong value');
    expect(wrongness('1', 1, near)).toBe('wrong value');
    expect(wrongness([1], 1, near)).toBe('wrong value');
    expect(wrongness(10n ** 4000n, 1, near)).toBe('wrong value');
    expect(
      wrongness(
        Array.from({ length: 100 }, () => null),
        1,
        near,
      ),
    ).toBe('wrong value');
  });
});

describe('texts of tests', () => {
  test.each([
    ["'\\U00110000'", /10FFFF/],
    ["'\\Uffffffff'", /10FFFF/],
    ['9'.repeat(3_000_000), /1000000 characters/],
    [`-${'9'.repeat(5000)}`, /4300 digits/],
    [`0x${'f'.repeat(3_000_000)}`, /1000000 characters/],
    ['0x_', /underscores/],
    ['0x', /./],
    ['1__0', /underscores/],
    ["'\ud800'", /surrogates/],
    ['{[1]: 2}', /hashed/],
    ['frozenset(1)', /frozenset/],
    ["'\\012'", /simple escape/],
  ])('a test is refused with its reason, case %#', (text, reason) => {
    for (const assert of [`assert candidate(${text}) == 1`, `assert candidate(1) == ${text}`]) {
      expect(() => parseAssert(assert, 'candidate')).toThrow(UnreadableTest);
      expect(() => parseAssert(assert, 'candidate')).toThrow(reason);
    }
  });

  test('a tree or list is expected as a call of its builder', () => {
    expect(() => parseAssert('assert is_same_list(candidate(), [list_node([1])])', 'candidate')).toThrow(
      UnreadableTest,
    );
  });
});
