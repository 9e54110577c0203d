import { describe, expect, it } from 'vitest';
import { readWhole } from './whole-number.ts';

describe('a whole number as people write it', () => {
  it.each([
    ['0', 0],
    ['5', 5],
    ['1000000', 1e6],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('%s', (text, value) => expect(readWhole(text)).toBe(value));

  it.each([
    '',
    ' ',
    ' 5',
    '5 ',
    '5\n',
    '+5',
    '-5',
    '-0',
    '05',
    '5.0',
    '5.',
    '.5',
    '1e3',
    '0x10',
    '0b1',
    '5_000',
    '5,000',
    '٥',
    '５',
    'Infinity',
    'NaN',
    'null',
    '9007199254740992',
  ])(
    // biome-ignore format: one line
    'is not %j',
    (text) => expect(readWhole(text)).toBeNull(),
  );

  it('lies in its bounds, which are part of them', () => {
    expect(['0', '1', '2', '3', '4'].map((text) => readWhole(text, 1, 3))).toEqual([null, 1, 2, 3, null]);
  });
});
