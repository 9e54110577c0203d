import { expect, test, vi } from 'vitest';
import type { LedgerRow } from '../api.ts';

// The address of a page, which only a browser has.
vi.stubGlobal('location', { hash: '' });
vi.stubGlobal('document', { querySelector: () => null });
const { stripTokens } = await import('./token-strip.tsx');

test('the last token is the end where the model said so, and no other token is', () => {
  const texts = { 1: 'return', 2: '<|im_end|>' };
  const ends = (tokenIds: readonly number[], truncated = false): boolean[] =>
    stripTokens({ tokenIds, truncated } as LedgerRow, texts).map(({ isEnd }) => isEnd);
  expect(ends([1, 2])).toEqual([false, true]);
  expect(ends([2, 1]), 'a last token with a text').toEqual([false, false]);
  expect(ends([1, 2], true), 'the limit ended it').toEqual([false, false]);
});
