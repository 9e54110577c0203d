import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffWords } from './word-diff.ts';

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
