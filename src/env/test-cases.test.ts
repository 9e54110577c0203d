import { describe, expect, test } from 'vitest';
import { Comparer, prepareExpected } from './compare.ts';
import { encodeMarshal } from './marshal.ts';
import type { PythonValue } from './python-value.ts';
import { parseAssert, splitCheckFunction, UnreadableTest } from './test-cases.ts';

describe('asserts become calls', () => {
  test('a call with keywords and a list', () => {
    expect(parseAssert('assert Solution().f(n = 7, queries = [[0,5],[1,6]]) == [2, 2]', 'Solution().f')).toEqual({
      positional: [],
      keywords: [
        ['n', 7n],
        [
          'queries',
          [
            [0n, 5n],
            [1n, 6n],
          ],
        ],
      ],
      builders: [],
      shape: 'plain',
      expected: [2n, 2n],
      tolerance: null,
    });
  });

  test('lists and trees are built before the call and flattened after it', () => {
    const test1 = parseAssert(
      'assert is_same_tree(candidate(root = tree_node([1, None, 2]), k = 1), tree_node([2, None, None]))',
      'candidate',
    );
    expect(test1).toMatchObject({
      shape: 'tree',
      expected: [2n, null, null],
      builders: [{ shape: 'tree', path: ['root'] }],
    });
    const test2 = parseAssert('assert candidate([list_node([1]), list_node([2])]) == [1]', 'candidate');
    expect(test2.builders).toEqual([
      { shape: 'list', path: [0, 0] },
      { shape: 'list', path: [0, 1] },
    ]);
    expect(parseAssert('assert is_same_list(candidate(), None)', 'candidate')).toMatchObject({
      shape: 'list',
      expected: [],
    });
  });

  test('None and tolerances', () => {
    expect(parseAssert('assert candidate(1) is None', 'candidate').expected).toBeNull();
    const same = prepareExpected(parseAssert('assert candidate(1) is False', 'candidate'));
    const wrongness = (value: PythonValue) => new Comparer().wrongness(encodeMarshal(value), same);
    expect([false, 0n, true, null].map(wrongness)).toEqual(['', 'wrong value', 'wrong value', 'wrong value']);
    expect(parseAssert('assert abs(candidate(x = 2) - -1.5) < 1e-5', 'candidate')).toMatchObject({
      expected: -1.5,
      tolerance: expect.closeTo(1e-5, 18),
    });
  });

  test.each([
    ['<', 0.5, false],
    ['<', 0.49999999999999994, true],
    ['<=', 0.5, true],
    ['<=', 0.5000000000000001, false],
  ])('a difference %s 0.5 of %d passes as in Python: %s', (sign, difference, passes) => {
    const { tolerance } = parseAssert(`assert abs(candidate() - 0) ${sign} 0.5`, 'candidate');
    expect(tolerance !== null && difference <= tolerance).toBe(passes);
  });

  test.each([
    'assert candidate(1)',
    'assert candidate(1) in (1, 2)',
    'assert candidate(1) != 2',
    'assert not candidate(1)',
    'assert candidate(1) == other(2)',
    'assert candidate(helper(1)) == 2',
    'assert other(1) == 2',
    'assert candidate(1) == 2 or True',
    "assert candidate(1) == float('nan')",
    'assert candidate(1) is 5',
    'assert is_same_list(candidate(1), tree_node([1]))',
    'assert is_same_tree(candidate(1), tree_node([1])) == False',
    'import os',
    'assert candidate(1) == 2; import os',
  ])('%s is refused, with the test in the reason', (text) => {
    expect(() => parseAssert(text, 'candidate')).toThrow(UnreadableTest);
    expect(() => parseAssert(text, 'candidate')).toThrow(text.slice(0, 20));
  });

  test.each([
    'assert candidate(1)',
    'assert not candidate(1)',
    'assert not(candidate(1))',
    'assert not candidate(1) == 2',
  ])('%s asks for truth: the reason says how to write it', (text) => {
    expect(() => parseAssert(text, 'candidate')).toThrow(
      /compare with a value \(== True, == False, is True, is False, /,
    );
  });

  test('a check function is split at its asserts, over line ends too', () => {
    const text = 'def check(candidate):\n    assert candidate(1) == [\n        2]\n    assert candidate(2) == 3\n\n';
    expect(splitCheckFunction(text).map((part) => parseAssert(part, 'candidate').expected)).toEqual([[2n], 3n]);
    expect(() => splitCheckFunction('def other(): pass')).toThrow(UnreadableTest);
  });
});
