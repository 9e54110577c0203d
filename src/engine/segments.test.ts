import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ShapeError } from '../base/errors.ts';
import { createReferenceDevice } from './reference/index.ts';
import { Scope } from './scope.ts';
import { type Segment, Segments } from './segments.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 20 });
const right: Segment = { queryStart: 0, queryEnd: 3, prefixStart: 0, prefixEnd: 2, keyStart: 2, keyEnd: 8 };

test.each<[string, Partial<Segment>]>([
  ['does not start at the first query', { queryStart: 1 }],
  ['ends before it starts', { queryStart: 0, queryEnd: -1 }],
  ['has fewer own keys than queries', { keyStart: 6 }],
  ['has keys before the first', { keyStart: -1 }],
  ['has keys past the last', { keyEnd: 9 }],
  ['has a prefix before the first key', { prefixStart: -1 }],
  ['has a prefix past the last key', { prefixEnd: 9 }],
  ['has a prefix that ends before it starts', { prefixStart: 2, prefixEnd: 1 }],
  ['covers too few queries', { queryEnd: 2 }],
  ['covers too many queries', { queryEnd: 4 }],
  ['is no number', { keyStart: Number.NaN }],
  ['is a fraction', { keyStart: 2.5 }],
])('a segment that %s is refused', (_, change) => {
  using scope = new Scope(device);
  const before = device.arena.used;
  expect(() => new Segments(scope, [{ ...right, ...change }], 3, 8)).toThrow(ShapeError);
  expect(() => new Segments(scope, [{ ...right, ...change }], 3, 8)).toThrow(/^segments: expected .* found /);
  expect(device.arena.used).toBe(before);
  expect(new Segments(scope, [right], 3, 8).list).toEqual([right]);
});

test('a gap or an overlap between segments is refused', () => {
  using scope = new Scope(device);
  const second = (queryStart: number): Segment => ({ ...right, queryStart, queryEnd: queryStart + 2 });
  expect(() => new Segments(scope, [right, second(4)], 6, 8)).toThrow(/queries in order from 3/);
  expect(() => new Segments(scope, [right, second(2)], 4, 8)).toThrow(/queries in order from 3/);
});

test('packed rows follow each other, see only themselves, and the device has the same table', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 12 }), async (lengths) => {
      using scope = new Scope(device);
      const { list, queries, keys, tensor } = Segments.packed(scope, lengths);
      expect(list.map(({ queryStart, queryEnd }) => queryEnd - queryStart)).toEqual(lengths);
      expect(list.every((s) => s.keyStart === s.queryStart && s.keyEnd === s.queryEnd)).toBe(true);
      expect(list.every((s) => s.prefixStart === s.prefixEnd)).toBe(true);
      expect([queries, keys]).toEqual([queries, queries]);
      expect(queries).toBe(lengths.reduce((sum, length) => sum + length, 0));
      const flat = list.flatMap((s) => [s.queryStart, s.queryEnd, s.prefixStart, s.prefixEnd, s.keyStart, s.keyEnd]);
      expect(await device.read(tensor)).toEqual(Int32Array.from(flat));
    }),
  );
});

test('growing gives every row one more key, on the host and on the device', async () => {
  using scope = new Scope(device);
  const rows = [0, 1].map((row) => ({
    ...right,
    queryStart: row,
    queryEnd: row + 1,
    keyStart: 4 * row,
    keyEnd: 4 * row + 1,
  }));
  const segments = new Segments(scope, rows, 2, 8);
  segments.grow(scope.from(Int32Array.of(0, 0, 0, 0, 0, 1), [6], 'one key'));
  expect(segments.list.map(({ keyEnd }) => keyEnd)).toEqual([2, 6]);
  expect(await device.read(segments.tensor)).toEqual(Int32Array.of(0, 1, 0, 2, 0, 2, 1, 2, 0, 2, 4, 6));
});
