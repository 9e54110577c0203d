import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeviceError } from '../base/errors.ts';
import { Arena } from './arena.ts';

const unit = 256;
const padded = (bytes: number): number => Math.max(unit, Math.ceil(bytes / unit) * unit);

interface Piece {
  readonly offset: number;
  readonly end: number;
}

/** Allocates where `bytes` ≥ 0, else frees the live piece of that number; returns what is still live. */
function play(arena: Arena, base: number, steps: readonly number[]): Piece[] {
  const live: Piece[] = [];
  for (const step of steps) {
    if (step < 0) {
      const [piece] = live.splice(-step % Math.max(1, live.length), 1);
      if (piece !== undefined) arena.free(piece.offset);
      continue;
    }
    const offset = allocOrNone(arena, step);
    if (offset === undefined) continue;
    const piece = { offset, end: offset + padded(step) };
    expect(offset % unit).toBe(0);
    expect(offset).toBeGreaterThanOrEqual(base);
    expect(piece.end).toBeLessThanOrEqual(base + arena.capacity + unit);
    expect(live.filter((other) => piece.offset < other.end && other.offset < piece.end)).toEqual([]);
    live.push(piece);
    expect(arena.used).toBe(live.reduce((sum, { offset: start, end }) => sum + end - start, 0));
    expect(arena.peak).toBeGreaterThanOrEqual(arena.used);
  }
  return live;
}

function allocOrNone(arena: Arena, bytes: number): number | undefined {
  const fits = arena.fits(bytes);
  try {
    const offset = arena.alloc(bytes, 'piece');
    expect(fits).toBe(true);
    return offset;
  } catch (error) {
    expect(error).toBeInstanceOf(DeviceError);
    expect(fits).toBe(false);
    return undefined;
  }
}

const steps = fc.array(fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.integer({ min: -50, max: -1 })), {
  maxLength: 120,
});

test('pieces never overlap, and once all are free the whole capacity fits in one piece', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1000, max: 40_000 }), fc.integer({ min: 0, max: 700 }), (list, size, base) => {
      const arena = new Arena('test', base + size, base);
      const live = play(arena, base, list);
      for (const { offset } of live) arena.free(offset);
      expect(arena.used).toBe(0);
      const whole = arena.alloc(arena.capacity, 'everything');
      expect(arena.used).toBe(arena.capacity);
      expect(whole + arena.capacity).toBeLessThanOrEqual(base + size);
      expect(() => arena.alloc(0, 'nothing')).toThrow(DeviceError);
    }),
  );
});

test('takes the smallest hole that fits', () => {
  const arena = new Arena('test', 20 * unit);
  const offsets = [6, 1, 2, 1, 4, 1].map((units) => arena.alloc(units * unit, 'piece'));
  for (const hole of [0, 2, 4]) arena.free(offsets[hole]);
  expect(arena.alloc(2 * unit, 'fits the second hole exactly')).toBe(offsets[2]);
  expect(arena.alloc(3 * unit, 'the third hole is the tightest')).toBe(offsets[4]);
  expect(arena.alloc(6 * unit, 'only the first is left')).toBe(offsets[0]);
});

test('says which tensor did not fit, how large it is and what is free', () => {
  const arena = new Arena('tiny', 8 * unit);
  const first = arena.alloc(3 * unit, 'first');
  arena.alloc(unit, 'second');
  arena.free(first);
  expect(() => arena.alloc(4 * unit + 1, 'hidden f32[9,9]')).toThrow(
    'tiny: allocate hidden f32[9,9]: expected 1280 bytes in one piece, found 1792 of 2048 bytes free, the largest piece 1024.',
  );
  expect(arena.used).toBe(unit);
});

test('keeps the most that was ever in use', () => {
  const arena = new Arena('test', 100 * unit);
  const offsets = [1, 2, 3].map((units) => arena.alloc(units * unit, 'piece'));
  for (const offset of offsets) arena.free(offset);
  arena.alloc(unit, 'after');
  expect([arena.used, arena.peak]).toEqual([unit, 6 * unit]);
});

test('what replayed work used and gave back stays its own until it is over', () => {
  const arena = new Arena('test', 20 * unit);
  const before = arena.alloc(2 * unit, 'before');
  const held = arena.hold(() => {
    const [first, second] = [arena.alloc(3 * unit, 'first'), arena.alloc(4 * unit, 'second')];
    arena.free(first);
    const again = arena.alloc(2 * unit, 'in the place of the first');
    for (const offset of [second, again]) arena.free(offset);
  });
  expect(arena.used).toBe(9 * unit);
  expect(arena.alloc(unit, 'somebody else')).toBe(before + 9 * unit);
  held[Symbol.dispose]();
  held[Symbol.dispose]();
  expect(arena.used).toBe(3 * unit);
  expect(arena.alloc(7 * unit, 'the place is free again')).toBe(before + 2 * unit);
});

test('freeing twice, or what was never handed out, is an error', () => {
  const arena = new Arena('test', 10 * unit);
  const offset = arena.alloc(unit, 'once');
  arena.free(offset);
  expect(() => arena.free(offset)).toThrow('test: free: expected an offset that is in use, found 0. A tensor was');
  expect(() => arena.free(17)).toThrow(DeviceError);
});
