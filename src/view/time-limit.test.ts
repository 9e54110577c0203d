import { describe, expect, it } from 'vitest';
import { searchWithin } from './library.ts';

describe('a search that goes on for ever', () => {
  it('is stopped, and says what to write instead', () => {
    const text = `${'a'.repeat(200)}!`;
    expect(() => searchWithin(() => /^(a+)+$/.test(text), 50)).toThrow('expected a search that ends within 0.05 s');
    expect(searchWithin(() => /^a+$/.test(text), 50)).toBe(false);
  });

  it('fails with its own error', () => {
    const wrong = new Error('wrong');
    const work = () => {
      throw wrong;
    };
    expect(() => searchWithin(work, 50)).toThrow(wrong);
  });
});
