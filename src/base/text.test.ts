import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutText, padText, textWidth, visible, visibleLine, wrapText } from './text.ts';

describe('visible text', () => {
  it.each([
    ['\u001b[31mred', '\\x1b[31mred'],
    ['bell\u0007 back\b return\r', 'bell\\x07 back\\x08 return\\x0d'],
    ['\u009b2J\u007f', '\\u009b2J\\u007f'],
    ['a\u202eb\u2066c\u200fd', 'a\\u202eb\\u2066c\\u200fd'],
    ['\u2028\u2029', '\\u2028\\u2029'],
    ['\u{e0041}', '\\udb40\\udc41'],
    ['\ud83d', '\\ud83d'],
    ['line\n\ttab ä 字 😀 ▁ −', 'line\n\ttab ä 字 😀 ▁ −'],
  ])('%j is %j', (text, expected) => {
    expect(visible(text)).toBe(expected);
  });

  it('of one line has no line end', () => {
    expect(visibleLine('a\nb\tc')).toBe('a\\x0ab\\x09c');
  });

  it('has nothing that a terminal obeys, whatever goes in, and leaves JSON as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visible(text).replace(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
        expect(JSON.parse(visible(JSON.stringify({ text }, null, 2)))).toEqual({ text });
      }),
    );
  });
});

describe('text in columns', () => {
  it('counts wide characters twice and marks not at all', () => {
    expect([textWidth('abc'), textWidth('字a'), textWidth('e\u0301'), textWidth('▁▂')]).toEqual([3, 3, 1, 2]);
    expect(padText('字', 4)).toBe('字  ');
  });

  it('is cut with an ellipsis, and wrapped at spaces', () => {
    expect([cutText('abcdef', 4), cutText('abcd', 4), cutText('字字字', 4), cutText('abc', 0)]).toEqual([
      'abc…',
      'abcd',
      '字…',
      '',
    ]);
    expect(wrapText('one two three\nfour', 8)).toBe('one two\nthree\nfour');
    expect(wrapText('abcdefgh ij', 3)).toBe('abc\ndef\ngh\nij');
  });

  it('never is wider than asked, and loses no word', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 30 })),
        fc.integer({ min: 2, max: 60 }),
        (words, width) => {
          const text = words.join(' ');
          const wrapped = wrapText(text, width);
          for (const line of wrapped.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(width);
          expect(wrapped.replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
          expect(textWidth(cutText(text, width))).toBeLessThanOrEqual(width);
        },
      ),
    );
  });
});
