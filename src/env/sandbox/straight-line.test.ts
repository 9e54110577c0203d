/** What may share a process with others, and above all what may not. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isStraightLine } from './straight-line.ts';

const solution = (...lines: readonly string[]): string =>
  ['class Solution:', '    def solve(self, n):', ...lines.map((line) => `        ${line}`), ''].join('\n');

describe('straight-line programs', () => {
  test.each([
    ['nothing', ''],
    ['a chain of steps', solution('n += 31', 'n *= 2722', 'n %= 49', 'n //= 2', 'return n')],
    ['a test function that passes', `${solution('return n')}def check_cases():\n    pass\n`],
    ['names of its own', solution('half = n // 2', 'rest = n - half * 2', 'return half + rest')],
    ['two methods and an empty line', `${solution('return n')}\n    def other(self):\n        return\n`],
    ['a function without its body, which does not compile', 'class Solution:\n    def solve(self, n):\n'],
  ])('%s', (_, source) => {
    expect(isStraightLine(source)).toBe(true);
  });

  test.each([
    ['a call', solution('return max(n, 1)')],
    ['a call of a method', solution('return self.solve(n)')],
    ['an attribute', solution('return n.real')],
    ['an item', solution('return n[0]')],
    ['a name from outside', solution('return print')],
    ['a name before it has a value', solution('n = later', 'later = 1')],
    ['a name of another function', `def first(other):\n    return other\n${solution('return other')}`],
    ['a name that is only changed', solution('later += 1', 'return n')],
    ['a constant by name', solution('return None')],
    ['a power, which may not end', solution('return n ** n')],
    ['a shift, which may not end', solution('n <<= n')],
    ['a loop', solution('while n:', '    pass')],
    ['a condition', solution('if n: return n')],
    ['two statements in a line', solution('n = 1; return n')],
    ['a comparison', solution('return n == n')],
    ['a text', solution('return "n"')],
    ['a comment', solution('return n # n')],
    ['a long number', solution('return 1234567890')],
    ['a global name', solution('global n')],
    ['an import', `import os\n${solution('return n')}`],
    ['an import in a function', solution('import os')],
    ['a statement outside', `n = 1\n${solution('return n')}`],
    ['a statement in a class', 'class Solution:\n    n = 1\n'],
    ['a base class', 'class Solution(int):\n    def solve(self, n):\n        return n\n'],
    ['a decorator', `@staticmethod\ndef solve(n):\n    return n\n`],
    ['a default', 'def solve(self, n=1):\n    return n\n'],
    ['an annotation', 'def solve(self, n: int):\n    return n\n'],
    ['many arguments', 'def solve(*n):\n    return n\n'],
    ['a function in a function', solution('def inner(n):', '    return n')],
    ['a method that Python calls', 'class Solution:\n    def __del__(self):\n        return\n'],
    ['the name of the builtins', solution('return __builtins__')],
    ['a tab', 'def solve(n):\n\treturn n\n'],
    ['a form feed', 'def solve(n):\n\f    return n\n'],
    ['a carriage return', 'def solve(n):\r    return n\n'],
    ['a line that goes on', solution('n = \\', '1')],
    ['another alphabet', solution('ｎ = 1', 'return ｎ')],
    ['a walrus', solution('(m := n)')],
    ['a lambda', solution('return lambda n: n')],
    ['a yield', solution('n = yield')],
    ['an await', solution('n = await n')],
    ['a deletion', solution('del n')],
    ['two targets', solution('m = n = 1')],
    ['an exception', solution('raise n')],
    ['too much text', solution(...Array.from({ length: 400 }, () => 'n += 31'))],
  ])('not %s', (_, source) => {
    expect(isStraightLine(source)).toBe(false);
  });

  test('no text with a bracket after a name is one, but the head of a function', () => {
    const piece = fc.constantFrom(
      'n',
      'self',
      'print',
      '(',
      ')',
      '+',
      '*',
      '=',
      ' ',
      '\n        ',
      'return ',
      '1',
      '%',
      ',',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        expect(isStraightLine(solution(`return n${text}`)) && /[(),]|print/.test(text)).toBe(false);
      }),
    );
  });
});
