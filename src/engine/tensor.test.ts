import { describe, expect, test } from 'vitest';
import { DeviceError, ShapeError } from '../base/errors.ts';
import { createReferenceDevice } from './reference/index.ts';
import { Scope } from './scope.ts';
import { type Shape, Tensor } from './tensor.ts';
import { readFloats } from './transfer.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 20 });
const count = (n: number): Float32Array => Float32Array.from({ length: n }, (_, i) => i);

describe('shape', () => {
  test.each([[[2, -1]], [[1.5]], [[Number.NaN]], [[Number.POSITIVE_INFINITY]]])('[%s] is refused', (shape) => {
    expect(() => Tensor.empty(device, shape, 'f32', 'odd')).toThrow(/^tensor odd: expected axes that are whole/);
    expect(device.arena.used).toBe(0);
  });

  test('what does not fit is named with its dtype and shape', () => {
    expect(() => Tensor.empty(device, [1024, 1024], 'bf16', 'cache')).toThrow(/allocate cache bf16\[1024,1024\]/);
  });

  test('belongs to the tensor: changing the array it was made from changes nothing', () => {
    using scope = new Scope(device);
    const shape = [2, 3];
    const tensor = scope.empty(shape, 'x');
    shape[0] = 9;
    expect(tensor.shape).toEqual([2, 3]);
  });
});

describe('host data', () => {
  test.each([
    ['f32', new Int32Array(4), 'Float32Array[4]', 'Int32Array[4]'],
    ['i32', new Float32Array(4), 'Int32Array[4]', 'Float32Array[4]'],
    ['bf16', new Float32Array(4), 'Uint16Array[4]', 'Float32Array[4]'],
    ['f16', new Uint16Array(3), 'Uint16Array[4]', 'Uint16Array[3]'],
  ] as const)('%s refuses another array and leaks nothing', (dtype, data, expected, found) => {
    expect(() => Tensor.from(device, data, [4], dtype, 'x')).toThrow(
      `write x ${dtype}[4]: expected ${expected}, found ${found}.`,
    );
    expect(device.arena.used).toBe(0);
  });

  test('is copied both ways', async () => {
    using scope = new Scope(device);
    const data = count(4);
    const tensor = scope.from(data, [4], 'x');
    data.fill(7);
    const first = await readFloats(tensor);
    expect([...first]).toEqual([0, 1, 2, 3]);
    first.fill(9);
    expect([...(await readFloats(tensor))]).toEqual([0, 1, 2, 3]);
  });

  test('of another dtype is not read as floats', async () => {
    using scope = new Scope(device);
    await expect(readFloats(scope.from(new Int32Array(2), [2], 'ids'))).rejects.toThrow(
      'read ids: expected f32, found i32.',
    );
  });

  test('stays on its own device', async () => {
    using other = createReferenceDevice({ arenaBytes: 2 ** 12 });
    using scope = new Scope(device);
    const tensor = scope.from(count(2), [2], 'x');
    expect(() => other.write(tensor, count(2))).toThrow(DeviceError);
    await expect(other.read(tensor)).rejects.toThrow(/^read x f32\[2\]: expected a tensor on this reference device/);
  });
});

describe('views', () => {
  test('share the bytes of their owner, also through views', async () => {
    using scope = new Scope(device);
    const tensor = scope.from(count(24), [4, 6], 'x');
    const middle = tensor.rows(1, 3);
    const inner = middle.view([2, 2], 4);
    expect([...(await readFloats(inner))]).toEqual([10, 11, 12, 13]);
    expect([inner.isView, inner.owner === tensor, tensor.isView, tensor.owner === tensor]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    device.write(inner, Float32Array.of(-1, -2, -3, -4));
    expect([...(await readFloats(tensor))].slice(9, 15)).toEqual([9, -1, -2, -3, -4, 14]);
  });

  test('of 16-bit tensors start at the right byte', async () => {
    using scope = new Scope(device);
    const tensor = scope.from(Uint16Array.of(1, 2, 3, 4, 5, 6), [3, 2], 'x', 'f16');
    expect(await device.read(tensor.rows(1, 2))).toEqual(Uint16Array.of(3, 4));
  });

  test.each<[string, (x: Tensor) => Tensor]>([
    ['too long', (x) => x.view([25])],
    ['past the end', (x) => x.view([6], 19)],
    ['before the start', (x) => x.view([6], -1)],
    ['from a fraction', (x) => x.view([6], 0.5)],
    ['from nowhere', (x) => x.view([6], Number.NaN)],
    ['negative axes', (x) => x.view([-2, -3])],
    ['a fractional axis', (x) => x.view([2, 0.5])],
    ['rows past the end', (x) => x.rows(3, 5)],
    ['rows before the start', (x) => x.rows(-1, 2)],
    ['rows backwards', (x) => x.rows(3, 1)],
    ['past the end of a view', (x) => x.rows(1, 2).view([7])],
  ])('%s: refused', (_, cut) => {
    using scope = new Scope(device);
    const tensor = scope.from(count(24), [4, 6], 'x');
    expect(() => cut(tensor)).toThrow(ShapeError);
    expect(() => cut(tensor)).toThrow(/^view of x: expected .* found \[/);
  });

  test.each<[Shape, number]>([
    [[0], 24],
    [[24], 0],
    [[2, 0, 3], 5],
  ])('[%s] from %i is allowed', (shape, start) => {
    using scope = new Scope(device);
    expect(scope.from(count(24), [4, 6], 'x').view(shape, start).shape).toEqual(shape);
  });
});

describe('lifetimes', () => {
  const dead = (): { tensor: Tensor; view: Tensor } => {
    using scope = new Scope(device);
    const tensor = scope.from(count(6), [2, 3], 'ghost');
    return { tensor, view: tensor.rows(0, 1) };
  };

  test('a view lives as long as its owner', () => {
    const { tensor, view } = dead();
    expect([tensor.alive, view.alive]).toEqual([false, false]);
  });

  test.each<[string, (x: Tensor) => unknown]>([
    ['view', (x) => x.view([1])],
    ['write', (x) => device.write(x, count(x.size))],
    ['read', (x) => device.read(x)],
    ['free', (x) => x.owner.free()],
  ])('%s after free names call and tensor', async (call, use) => {
    const { tensor, view } = dead();
    for (const x of [tensor, view]) {
      const failure = await Promise.resolve()
        .then(() => use(x))
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(ShapeError);
      expect((failure as ShapeError).complaint.call).toBe(call);
      expect((failure as ShapeError).message).toContain('expected ghost f32[');
      expect((failure as ShapeError).message).toContain('found a tensor whose scope has ended');
    }
  });

  test('a view cannot be freed', () => {
    using scope = new Scope(device);
    const view = scope.from(count(6), [2, 3], 'x').rows(0, 1);
    expect(() => view.free()).toThrow('free x: expected an owner, found a view.');
  });
});

describe('scope', () => {
  test('frees all it made, once', () => {
    const before = device.arena.used;
    const scope = new Scope(device);
    const tensors = [scope.empty([3], 'a'), scope.zeros([4], 'b'), scope.from(count(2), [2], 'c')];
    expect(device.arena.used).toBeGreaterThan(before);
    scope[Symbol.dispose]();
    scope[Symbol.dispose]();
    expect(device.arena.used).toBe(before);
    expect(tensors.map(({ alive }) => alive)).toEqual([false, false, false]);
  });

  test('frees when its block throws', () => {
    const before = device.arena.used;
    expect(() => {
      using scope = new Scope(device);
      scope.empty([3], 'a');
      scope.from(new Int32Array(1), [2], 'wrong length');
    }).toThrow(ShapeError);
    expect(device.arena.used).toBe(before);
  });

  test('zeros are zero over used memory, and the dtype follows the data', async () => {
    {
      using scope = new Scope(device);
      scope.from(count(64), [64], 'dirt');
    }
    using scope = new Scope(device);
    expect(new Set(await readFloats(scope.zeros([64], 'clean')))).toEqual(new Set([0]));
    expect(scope.from(new Int32Array(1), [1], 'ids').dtype).toBe('i32');
    expect(scope.from(new Float32Array(1), [1], 'x').dtype).toBe('f32');
    expect(scope.from(new Uint16Array(1), [1], 'w', 'bf16').dtype).toBe('bf16');
  });
});
