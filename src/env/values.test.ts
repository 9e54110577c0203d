/** The trusted side's Python: literals, marshal and == agree with the real one. */
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeMarshal, encodeMarshal, largestEqualEncoding } from './marshal.ts';
import { ExpressionParser } from './python-literal.ts';
import { equalPython, PythonDict, PythonSet, PythonTuple, type PythonValue, SurrogateText } from './python-value.ts';

function python(program: string, input: unknown): unknown {
  const output = execFileSync('python3', ['-c', program], { input: JSON.stringify(input), maxBuffer: 1 << 28 });
  return JSON.parse(output.toString());
}

function parse(text: string): PythonValue {
  const parser = new ExpressionParser(text);
  const expression = parser.expression();
  if (expression.kind !== 'literal' || !parser.atEnd()) throw new Error(`not a literal: ${text}`);
  return expression.value;
}

const scalar = fc.oneof(
  fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }),
  fc.integer({ min: -5, max: 5 }).map(BigInt),
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.constant(null),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
);
const value: fc.Arbitrary<PythonValue> = fc.letrec<{ value: PythonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => new PythonTuple(items)),
    fc
      .uniqueArray(fc.string({ maxLength: 4 }), { maxLength: 3 })
      .chain((keys) =>
        fc
          .array(tie('value'), { minLength: keys.length, maxLength: keys.length })
          .map((items) => new PythonDict(keys.map((key, at) => [key, items[at]]))),
      ),
    fc
      .uniqueArray(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 4 })
      .map((items) => new PythonSet(items.map(BigInt))),
  ),
})).value;

/** The Python source of a value. */
function source(item: PythonValue): string {
  if (item === null) return 'None';
  if (typeof item === 'boolean') return item ? 'True' : 'False';
  if (typeof item === 'bigint') return `${item}`;
  if (typeof item === 'number') {
    if (!Number.isFinite(item)) return item > 0 ? "float('inf')" : "-float('inf')";
    return Object.is(item, -0)
      ? '-0.0'
      : Number.isInteger(item)
        ? `${item.toString()}${/e/.test(item.toString()) ? '' : '.0'}`
        : `${item}`;
  }
  if (typeof item === 'string') return JSON.stringify(item);
  if (item instanceof SurrogateText) throw new Error('no sample holds surrogates');
  if (item instanceof PythonTuple) return `(${item.items.map(source).join(', ')}${item.items.length === 1 ? ',' : ''})`;
  if (item instanceof PythonSet) return `{${item.items.map(source).join(', ')}}`;
  if (item instanceof PythonDict)
    return `{${item.entries.map(([key, entry]) => `${source(key)}: ${source(entry)}`).join(', ')}}`;
  return `[${item.map(source).join(', ')}]`;
}

const samples = fc.sample(value, { numRuns: 400, seed: 11 });

describe('marshal', () => {
  test('Python reads what is written here, and writes what is read here', () => {
    const program = `
import sys, json, marshal, math
out = []
for text, hexed in json.load(sys.stdin):
    wanted, got = eval(text), marshal.loads(bytes.fromhex(hexed))
    out.append([repr(wanted) == repr(got), marshal.dumps(wanted, 2).hex()])
print(json.dumps(out))`;
    const answers = python(
      program,
      samples.map((item) => [source(item), encodeMarshal(item).toString('hex')]),
    ) as [boolean, string][];
    for (const [index, [same, bytes]] of answers.entries()) {
      expect(same, source(samples[index])).toBe(true);
      expect(equalPython(decodeMarshal(Buffer.from(bytes, 'hex')), samples[index]), source(samples[index])).toBe(true);
    }
  });

  test('hostile bytes are refused or decoded, and never loop or allocate what they claim', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          decodeMarshal(Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      { numRuns: 2000 },
    );
    expect(() => decodeMarshal(Buffer.from('5bffffff7f', 'hex'))).toThrow(RangeError);
    expect(() => decodeMarshal(Buffer.from('7b', 'hex'))).toThrow(RangeError);
    expect(() =>
      decodeMarshal(Buffer.concat([Buffer.alloc(2000, Buffer.from('5b01000000', 'hex')), Buffer.from('4e')])),
    ).toThrow(/deeper/);
  });

  test('a value equal to the expected one is never longer than the bound', () => {
    for (const item of samples) expect(encodeMarshal(item).length).toBeLessThanOrEqual(largestEqualEncoding(item));
    expect(encodeMarshal([1.0, 0.0]).length).toBeLessThanOrEqual(largestEqualEncoding([true, false]));
    expect(encodeMarshal(10n ** 30n).length).toBeLessThanOrEqual(largestEqualEncoding(1e30));
  });
});

describe('equality', () => {
  test('is Python’s, for every pair', () => {
    const few = [
      ...samples.slice(0, 60),
      1n,
      1,
      true,
      0n,
      0,
      -0,
      false,
      '',
      [],
      new PythonTuple([]),
      2n ** 53n + 1n,
      2 ** 53,
      [1n, 2],
      new PythonTuple([1n, 2]),
      Number.POSITIVE_INFINITY,
      new PythonSet([1n, 2n]),
      new PythonSet([2, 1]),
      new PythonDict([[1n, 'a']]),
      new PythonDict([[1, 'a']]),
      null,
    ];
    const program = `
import sys, json
values = [eval(text) for text in json.load(sys.stdin)]
print(json.dumps([[a == b for b in values] for a in values]))`;
    const answers = python(program, few.map(source)) as boolean[][];
    for (const [i, a] of few.entries()) {
      for (const [j, b] of few.entries()) expect(equalPython(a, b), `${source(a)} == ${source(b)}`).toBe(answers[i][j]);
    }
  });

  test('repeated keys of forged bytes do not stand for others', () => {
    const wanted = new PythonDict([
      [1n, 1n],
      [2n, 2n],
    ]);
    expect(
      equalPython(
        new PythonDict([
          [1n, 1n],
          [1n, 1n],
        ]),
        wanted,
      ),
    ).toBe(false);
    expect(equalPython(new PythonSet([1n, 1n]), new PythonSet([1n, 2n]))).toBe(false);
  });
});

describe('literals', () => {
  test('nesting is bounded', () => {
    expect(() => parse('('.repeat(500))).toThrow(/less nesting/);
  });

  test('are read as Python reads them', () => {
    for (const item of samples) expect(equalPython(parse(source(item)), item), source(item)).toBe(true);
  });

  test('the forms that tests use', () => {
    expect(parse('\'a\' "b"')).toBe('ab');
    expect(parse("r'\\n'")).toBe('\\n');
    expect(parse("'\\x41\\u00e9\\'\\q'")).toBe("Aé'\\q");
    expect(parse('0x1F')).toBe(31n);
    expect(parse('1_000')).toBe(1000n);
    expect(parse('-inf')).toBe(Number.NEGATIVE_INFINITY);
    expect(parse('1e5')).toBe(100000);
    expect(equalPython(parse('((1),)'), new PythonTuple([1n]))).toBe(true);
    expect(equalPython(parse('set()'), new PythonSet([]))).toBe(true);
  });

  test.each([
    '[1',
    "'a",
    '1 +',
    'x',
    '1j',
    'f"a"',
    "b'a'",
    '{1: 2, 3}',
    '[i for i in x]',
    '1 if 2 else 3',
    '__import__("os")',
    '"\\N{DASH}"',
    '01',
    '[1] * 3',
  ])('%s is refused', (text) => {
    expect(() => parse(text)).toThrow();
  });
});
