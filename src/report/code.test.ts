import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffWords, textPieces } from './code.ts';

const joined = (pieces: readonly { readonly text: string }[]): string => pieces.map(({ text }) => text).join('');

describe('pieces of a text', () => {
  it.each([
    ['a program', 'class Solution:\n    def solve(self, n):\n        return n + 1  # one\n'],
    ['a fenced program', 'Here:\n```python\nimport os\nprint("<b>")\n```\nDone & dusted.'],
    ['an open fence', '```python\ndef f():\n'],
    ['markup', 'def f():\n    return "</span><script>alert(1)</script><img src=x onerror=alert(1)>"\n'],
    ['a text within a text within', 'def f():\n'.padEnd(19_000, 'f"{')],
    ['nothing', ''],
  ])('are %s, whole', (_, text) => {
    expect(joined(textPieces(text, { marked: ['solve', 'os', 'span'], other: 'def f' }))).toBe(text);
  });

  it('are any text, whole, and no piece is empty', () => {
    const texts = fc.string({
      unit: fc.constantFrom('```', '\n', 'def f', '"', "'''", '#', '<b>', '&lt;', ' ', '(', 'a', '\u0000'),
    });
    fc.assert(
      fc.property(texts, texts, (text, other) => {
        const pieces = textPieces(text, { marked: ['f', '<b>'], other });
        expect(joined(pieces)).toBe(text);
        expect(pieces.every((piece) => piece.text !== '')).toBe(true);
      }),
    );
  });

  it('tell keywords of programs, and not of prose', () => {
    const keywords = (text: string): string[] =>
      textPieces(text, {}).flatMap(({ text: own, token }) => (token === 'hljs-keyword' ? [own] : []));
    expect(keywords('class A:\n    return 1')).toEqual(['class', 'return']);
    expect(keywords('Say if it is in the class.')).toEqual([]);
    expect(keywords('if I may:\n```python\nimport os\n```\nfrom me')).toEqual(['import']);
  });

  it('mark a name within a token, and words that the other text lacks', () => {
    const pieces = textPieces('return run_tests_now', { marked: ['run_tests'], other: 'return n' });
    expect(pieces.filter(({ isMarked }) => isMarked).map(({ text }) => text)).toEqual(['run_tests']);
    expect(joined(pieces.filter(({ isOwn }) => isOwn))).toBe('run_tests_now');
  });
});

describe('the difference of two texts', () => {
  it('is by words', () => {
    expect(diffWords('return n + 1', 'return m + 1')).toEqual([
      { text: 'return ', where: 'both' },
      { text: 'n', where: 'first' },
      { text: 'm', where: 'second' },
      { text: ' + 1', where: 'both' },
    ]);
  });

  it('holds both texts, whatever they are', () => {
    const word = fc.constantFrom('a', 'b', ' ', '\n', 'def', '(', '😀', '\u0000');
    const text = fc.array(word, { maxLength: 12 }).map((words) => words.join(''));
    fc.assert(
      fc.property(text, text, (first, second) => {
        const parts = diffWords(first, second);
        const side = (other: string): string =>
          parts
            .filter(({ where }) => where !== other)
            .map((part) => part.text)
            .join('');
        expect([side('second'), side('first')]).toEqual([first, second]);
      }),
      { numRuns: 200 },
    );
  });

  it('does not compare texts that would take too long', () => {
    const [first, second] = ['a '.repeat(3000), 'b '.repeat(3000)];
    expect(diffWords(first, second).map(({ where }) => where)).toEqual(['first', 'second']);
  });
});
