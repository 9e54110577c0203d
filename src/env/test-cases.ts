/**
 * Tests as data. Each `assert` becomes a call and an expected value. The sandbox only has to produce plain values, and the
 * comparison happens here, so only these forms are read (`<` may be `<=`, and means what it means in Python):
 *   assert CALL == VALUE                      assert CALL is None (True, False)
 *   assert is_same_list(CALL, list_node(V))   assert is_same_tree(CALL, tree_node(V))
 *   assert abs(CALL - NUMBER) < NUMBER
 * where CALL is Solution().method(…) or candidate(…), arguments are literals, list_node(…) or tree_node(…) of literals.
 * Any other form is refused, and the refusal quotes the test; `assert CALL` and `assert not CALL` say how to write them.
 */

import type { TestCase } from './problem.ts';
import { type CallExpression, type Expression, ExpressionParser } from './python-literal.ts';
import { holdsNaN, type PythonValue } from './python-value.ts';
import type { Builder } from './sandbox/frames.ts';

export class UnreadableTest extends Error {}

const builderShapes: Readonly<Record<string, 'list' | 'tree'>> = { list_node: 'list', tree_node: 'tree' };
const sameShapes: Readonly<Record<string, 'list' | 'tree'>> = { is_same_list: 'list', is_same_tree: 'tree' };

/** Returns the plain value of an argument, and adds to `builders` the places where lists or trees must be built. */
function readArgument(expression: Expression, path: readonly (number | string)[], builders: Builder[]): PythonValue {
  if (expression.kind === 'literal') return expression.value;
  if (expression.kind === 'list') {
    return expression.items.map((item, index) => readArgument(item, [...path, index], builders));
  }
  const shape = builderShapes[expression.name];
  const [only, ...more] = expression.positional;
  if (shape === undefined || only?.kind !== 'literal' || more.length > 0 || expression.keywords.length > 0) {
    throw new UnreadableTest(`the argument calls ${expression.name}`);
  }
  builders.push({ shape, path });
  return only.value;
}

function readCall(expression: Expression, callee: string): Omit<TestCase, 'expected' | 'tolerance' | 'shape'> {
  if (expression.kind !== 'call' || expression.name !== callee) throw new UnreadableTest(`not a call of ${callee}`);
  const builders: Builder[] = [];
  const positional = expression.positional.map((argument, index) => readArgument(argument, [index], builders));
  const keywords = expression.keywords.map(
    ([name, argument]) => [name, readArgument(argument, [name], builders)] as const,
  );
  return { positional, keywords, builders };
}

function readLiteral(expression: Expression): PythonValue {
  if (expression.kind !== 'literal') throw new UnreadableTest('the expected value is not a literal');
  if (holdsNaN(expression.value)) throw new UnreadableTest('the expected value holds NaN, which equals nothing');
  return expression.value;
}

function readSameShape(call: CallExpression, callee: string): TestCase {
  const shape = sameShapes[call.name];
  const [result, wanted] = call.positional;
  if (wanted === undefined || call.positional.length !== 2)
    throw new UnreadableTest(`${call.name} needs two arguments`);
  const isNone = wanted.kind === 'literal' && wanted.value === null;
  const builders: Builder[] = [];
  const values = isNone ? [] : readArgument(wanted, [0], builders);
  if (!isNone && (wanted.kind !== 'call' || builders[0]?.shape !== shape))
    throw new UnreadableTest(`${call.name} against another shape`);
  if (!Array.isArray(values)) throw new UnreadableTest(`a ${shape} is not given as a list`);
  if (holdsNaN(values)) throw new UnreadableTest('the expected value holds NaN, which equals nothing');
  return { ...readCall(result, callee), shape, expected: values, tolerance: null };
}

function readTolerance(parser: ExpressionParser, callee: string): TestCase {
  const call = readCall(parser.expression(), callee);
  parser.expect('-');
  const expected = readLiteral(parser.expression());
  parser.expect(')');
  const inclusive = parser.accept('<=');
  if (!inclusive) parser.expect('<');
  const limit = Number(readLiteral(parser.expression()));
  if (!(limit > 0)) throw new UnreadableTest('a tolerance that is not positive');
  return { ...call, shape: 'plain', expected, tolerance: inclusive ? limit : nextBelow(limit) };
}

/** The largest double below a positive one: a difference is less than a limit exactly if it is at most this. */
function nextBelow(limit: number): number {
  const bits = new BigUint64Array(Float64Array.of(limit).buffer);
  return new Float64Array(bits.map((each) => each - 1n).buffer)[0];
}

function readTest(parser: ExpressionParser, callee: string): TestCase {
  if (parser.accept('abs(')) return readTolerance(parser, callee);
  const left = parser.expression();
  if (left.kind === 'call' && left.name in sameShapes) {
    const test = readSameShape(left, callee);
    if (parser.accept('==')) {
      if (readLiteral(parser.expression()) !== true) throw new UnreadableTest('a shape that must differ');
    }
    return test;
  }
  const call = readCall(left, callee);
  if (parser.accept('is')) {
    const expected = readLiteral(parser.expression());
    if (expected !== null && typeof expected !== 'boolean') {
      throw new UnreadableTest('"is" with a value other than None, True and False');
    }
    return { ...call, shape: 'plain', expected, tolerance: null, ...(expected === null ? {} : { isSame: true }) };
  }
  if (parser.atEnd()) throw new UnreadableTest(`no value to compare with. ${truthFix}`);
  parser.expect('==');
  return { ...call, shape: 'plain', expected: readLiteral(parser.expression()), tolerance: null };
}

/** Plain values have a truth here; an object, bytes or a generator that a program returns has one in Python only. */
const truthFix =
  'What Python counts as true cannot be decided outside of Python: compare with a value (== True, == False, is True, is False, == [])';

/** Reads one assert statement; throws UnreadableTest with the reason. */
export function parseAssert(text: string, callee: string): TestCase {
  const parser = new ExpressionParser(text);
  try {
    parser.expect('assert');
    if (/^\s*not\b/.test(parser.rest)) throw new UnreadableTest(`"not". ${truthFix}`);
    const test = readTest(parser, callee);
    if (!parser.atEnd()) parser.fail('the end of the test');
    return test;
  } catch (error) {
    // Whatever a text does to the parser, it is a test that cannot be read, never the end of the check of all others.
    const reason = error instanceof Error ? error.message : String(error);
    throw new UnreadableTest(`${reason}, in: ${text.slice(0, 120)}`, { cause: error });
  }
}

/** The asserts of `def check(candidate):`, one per logical line. */
export function splitCheckFunction(text: string): readonly string[] {
  const body = /^\s*def check\(candidate\):[^\n]*\n([\s\S]*)$/.exec(text)?.[1];
  if (body === undefined) throw new UnreadableTest(`not a "def check(candidate):" function: ${text.slice(0, 80)}`);
  const statements = body.split(/\n(?=[ \t]*assert\b)/).map((statement) => statement.trim());
  return statements.filter((statement) => statement !== '');
}
