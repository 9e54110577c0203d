import { describe, expect, test } from 'vitest';
import { recordCalls } from '../../test/device/wrap.ts';
import { ShapeError } from '../base/errors.ts';
import { add, exp, log, multiply, reshape, sqrt, square } from './ops/elementwise.ts';
import { linear, matmul } from './ops/matmul.ts';
import { rmsNorm } from './ops/normalise.ts';
import { sum } from './ops/reduce.ts';
import { swiglu } from './ops/swiglu.ts';
import { createReferenceDevice } from './reference/index.ts';
import { Scope } from './scope.ts';
import { Tape } from './tape.ts';
import type { Tensor } from './tensor.ts';
import { readFloats } from './transfer.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 22 });
const { arena } = device;
/** What a tensor of these many f32 takes. */
const bytes = (...sizes: readonly number[]): number =>
  sizes.reduce((total, size) => total + Math.max(256, Math.ceil((4 * size) / 256) * 256), 0);
const wave = (size: number, phase = 0): Float32Array =>
  Float32Array.from({ length: size }, (_, i) => Math.sin(1 + i + phase));

function setUp(scope: Scope, shape: readonly number[]): { x: Tensor; dx: Tensor; learn: ReadonlyMap<Tensor, Tensor> } {
  const size = shape.reduce((product, axis) => product * axis, 1);
  const x = scope.from(wave(size), shape, 'x');
  const dx = scope.zeros(shape, 'dx');
  return { x, dx, learn: new Map([[x, dx]]) };
}

describe('section', () => {
  test('without learn keeps only what it returns', () => {
    using scope = new Scope(device);
    const { x } = setUp(scope, [100]);
    using tape = new Tape(device);
    const before = arena.used;
    const y = tape.section(() => exp(tape, square(tape, add(tape, x, x))));
    expect(arena.used - before).toBe(bytes(100));
    expect([y.alive, tape.recording, tape.learns(y)]).toEqual([true, false, false]);
  });

  test('keeps what the backward pass will read, and that pass frees it node by node', () => {
    using scope = new Scope(device);
    const { x, learn } = setUp(scope, [100]);
    using tape = new Tape(device, { learn });
    const before = arena.used;
    let squared: Tensor | undefined;
    const y = tape.section(() => {
      const twice = add(tape, x, x);
      squared = square(tape, twice);
      return exp(tape, squared);
    });
    // square saves (twice, squared), exp saves (squared, y); y is also returned.
    expect(arena.used - before).toBe(bytes(100, 100, 100));
    tape.backward(sum(tape, y));
    expect(arena.used - before).toBe(bytes(100, 1));
    expect([squared?.alive, y.alive]).toEqual([false, true]);
  });

  test('frees at once what no backward pass needs, though it recorded it', () => {
    using scope = new Scope(device);
    const { x, learn } = setUp(scope, [100]);
    using tape = new Tape(device, { learn });
    const before = arena.used;
    tape.section(() => add(tape, add(tape, x, x), x));
    expect(arena.used - before).toBe(bytes(100));
  });

  test('can be nested, and keeps the owner of a returned view and every tensor of a returned list', () => {
    using scope = new Scope(device);
    const { x } = setUp(scope, [10, 10]);
    using tape = new Tape(device);
    const before = arena.used;
    const [view, inner] = tape.section(() => {
      const kept = tape.section(() => square(tape, square(tape, x)));
      square(tape, kept);
      return [reshape(tape, square(tape, x), [100]), kept];
    });
    expect(arena.used - before).toBe(bytes(100, 100));
    expect([view.isView, view.alive, inner.alive]).toEqual([true, true, true]);
  });

  test('that throws leaks nothing past the tape, and the tape goes on', () => {
    using scope = new Scope(device);
    const { x, learn } = setUp(scope, [100]);
    const before = arena.used;
    {
      using tape = new Tape(device, { learn });
      const failing = (): Tensor =>
        tape.section(() => {
          const y = square(tape, x);
          return tape.section(() => matmul(tape, exp(tape, y), x));
        });
      expect(failing).toThrow(ShapeError);
      const y = tape.section(() => square(tape, x));
      tape.backward(sum(tape, y));
    }
    expect(arena.used).toBe(before);
  });
});

describe('drop', () => {
  test('frees at once what nothing saved, and later what a node saved', () => {
    using scope = new Scope(device);
    const { x, learn } = setUp(scope, [100]);
    using tape = new Tape(device, { learn });
    const before = arena.used;
    const unsaved = add(tape, x, x);
    const y = add(tape, unsaved, x);
    tape.drop(unsaved);
    expect([unsaved.alive, arena.used - before]).toEqual([false, bytes(100)]);
    const z = square(tape, y);
    tape.drop(y);
    expect([y.alive, arena.used - before]).toEqual([true, bytes(100, 100)]);
    tape.backward(sum(tape, z));
    expect([y.alive, arena.used - before]).toEqual([false, bytes(100, 1)]);
  });

  test('takes a tensor of this tape, once', () => {
    using scope = new Scope(device);
    const { x } = setUp(scope, [4]);
    using tape = new Tape(device);
    const y = square(tape, x);
    expect(() => tape.drop(x)).toThrow('drop: expected a tensor this tape owns, found x f32[4].');
    expect(() => tape.drop(reshape(tape, y, [2, 2]))).toThrow(ShapeError);
    tape.drop(y);
    expect(() => tape.drop(y)).toThrow('drop: expected square f32[4] to be alive');
  });
});

describe('what is frozen', () => {
  test('a frozen weight gets no gradient product, and a frozen input none either', () => {
    const calls: string[] = [];
    const watched = recordCalls(device, calls);
    using scope = new Scope(watched);
    const x = scope.from(wave(12), [4, 3], 'x');
    const weight = scope.from(wave(15), [5, 3], 'weight');
    const [dx, dw] = [scope.zeros([4, 3], 'dx'), scope.zeros([5, 3], 'dw')];
    const products = (learn: ReadonlyMap<Tensor, Tensor>): string[] => {
      using tape = new Tape(watched, { learn });
      const loss = sum(tape, linear(tape, x, weight));
      calls.length = 0;
      tape.backward(loss);
      return calls.filter((call) => call.startsWith('matmul'));
    };
    expect(products(new Map([[x, dx]]))).toEqual(['matmul → dx']);
    expect(products(new Map([[weight, dw]]))).toEqual(['matmul → dw']);
    expect(new Set(products(new Map([[x, dx], [weight, dw]])))).toEqual(new Set(['matmul → dx', 'matmul → dw'])); // biome-ignore format: one map
  });

  test('nothing below the first learning parameter is recorded or differentiated', () => {
    const calls: string[] = [];
    const watched = recordCalls(device, calls);
    using scope = new Scope(watched);
    const [first, second] = ['first', 'second'].map((label) => scope.from(wave(9), [3, 3], label));
    const x = scope.from(wave(9), [3, 3], 'x');
    const gain = scope.from(wave(3), [3], 'gain');
    using tape = new Tape(watched, { learn: new Map([[second, scope.zeros([3, 3], 'd second')]]) });
    const below = rmsNorm(tape, linear(tape, x, first), gain, 1e-5);
    expect(tape.learns(below)).toBe(false);
    const loss = sum(tape, linear(tape, below, second));
    calls.length = 0;
    tape.backward(loss);
    expect(calls.filter((call) => /matmul|rmsNorm/.test(call))).toEqual(['matmul → d second']);
  });

  test('a branch that does not reach the loss is not differentiated, and what it saved is freed', () => {
    const calls: string[] = [];
    const watched = recordCalls(device, calls);
    using scope = new Scope(watched);
    const { x, learn } = setUp(scope, [100]);
    using tape = new Tape(watched, { learn });
    const before = arena.used;
    tape.section(() => [exp(tape, square(tape, x))]);
    const loss = sum(tape, add(tape, x, x));
    tape.drop(tape.section(() => square(tape, x)));
    calls.length = 0;
    tape.backward(loss);
    expect(calls.filter((call) => /copy → gradient|affine/.test(call))).toEqual([]);
    expect(calls.some((call) => call.includes('→ dx'))).toBe(true);
    expect(arena.used - before).toBe(bytes(100, 100, 1));
  });
});

describe('backward', () => {
  test('needs one number that depends on what learns', () => {
    using scope = new Scope(device);
    const { x, learn } = setUp(scope, [4]);
    using tape = new Tape(device, { learn });
    const constant = sum(tape, scope.zeros([4], 'constant'));
    expect(() => tape.backward(square(tape, x))).toThrow(/^backward: expected one number .* found square f32\[4\]\.$/);
    expect(() => tape.backward(constant)).toThrow(/^backward: .* found sum f32\[1\]\.$/);
    using silent = new Tape(device);
    expect(() => silent.backward(sum(silent, x))).toThrow(ShapeError);
  });

  test('runs once', () => {
    using scope = new Scope(device);
    const { x, learn } = setUp(scope, [4]);
    using tape = new Tape(device, { learn });
    const loss = sum(tape, square(tape, x));
    tape.backward(loss);
    expect(() => tape.backward(loss)).toThrow(/from a tape that has not run backward/);
  });

  test('that fails half way leaks nothing and cannot be run again', () => {
    const tiny = createReferenceDevice({ arenaBytes: 8 * 256 });
    using scope = new Scope(tiny);
    const { x, learn } = setUp(scope, [64]);
    const before = tiny.arena.used;
    {
      using tape = new Tape(tiny, { learn });
      const loss = sum(tape, square(tape, square(tape, x)));
      tape.empty([64 * 2], 'takes the rest');
      expect(() => tape.backward(loss)).toThrow(/allocate gradient of/);
      expect(() => tape.backward(loss)).toThrow(ShapeError);
    }
    expect(tiny.arena.used).toBe(before);
  });

  test('adds to the gradients it finds: two tapes give the sum of both', async () => {
    using scope = new Scope(device);
    const { x, dx, learn } = setUp(scope, [7]);
    for (let pass = 0; pass < 2; pass++) {
      using tape = new Tape(device, { learn });
      tape.backward(sum(tape, square(tape, x)));
    }
    expect(await readFloats(dx)).toEqual(wave(7).map((value) => 2 * value + 2 * value));
  });

  test('of a parameter itself is one', async () => {
    using scope = new Scope(device);
    const { x, dx, learn } = setUp(scope, [1]);
    using tape = new Tape(device, { learn });
    tape.backward(x);
    expect([...(await readFloats(dx))]).toEqual([1]);
  });

  test('leaves the arena as it was once the tape ends', () => {
    using scope = new Scope(device);
    const { x, learn } = setUp(scope, [6, 6]);
    const before = arena.used;
    for (const backward of [true, false]) {
      using tape = new Tape(device, { learn, checkFinite: true });
      const y = tape.section(() => matmul(tape, x, exp(tape, x)));
      const loss = sum(tape, multiply(tape, y, x));
      if (backward) tape.backward(loss);
      tape[Symbol.dispose]();
      expect(arena.used).toBe(before);
    }
  });

  test.each<[string, (x: Scope) => Tensor, RegExp]>([
    [
      'shape',
      (scope) => scope.zeros([2, 3], 'dx'),
      /^tape: expected a gradient f32\[3,2\] for x, .* found dx f32\[2,3\]/,
    ],
    ['dtype', (scope) => scope.empty([3, 2], 'dx', 'bf16'), /found dx bf16\[3,2\]/],
  ])('a gradient of another %s is refused', (_, make, message) => {
    using scope = new Scope(device);
    const x = scope.zeros([3, 2], 'x');
    expect(() => new Tape(device, { learn: new Map([[x, make(scope)]]) })).toThrow(message);
  });
});

describe('recompute', () => {
  /** Activations that feed each other through norms, each in a section of its own. */
  async function run(recompute: boolean): Promise<{ gradient: Float32Array; kept: number }> {
    using scope = new Scope(device);
    const { x, dx, learn } = setUp(scope, [10, 10]);
    const gain = scope.from(wave(10, 2), [10], 'gain');
    const before = arena.used;
    using tape = new Tape(device, { learn, recompute });
    let y = tape.section(() => rmsNorm(tape, add(tape, x, x), gain, 1e-5));
    for (let layer = 0; layer < 3; layer++) {
      const input = y;
      y = tape.section(() => rmsNorm(tape, swiglu(tape, rmsNorm(tape, input, gain, 1e-5), input), gain, 1e-5));
      tape.drop(input);
    }
    const kept = arena.used - before;
    tape.backward(sum(tape, square(tape, y)));
    return { gradient: await readFloats(dx), kept };
  }

  test('keeps less until the backward pass, and gives the same gradients to the last bit', async () => {
    const before = arena.used;
    const [plain, again] = [await run(false), await run(true)];
    expect(again.gradient).toEqual(plain.gradient);
    expect(again.kept).toBeLessThan(plain.kept);
    expect(arena.used).toBe(before);
  });
});

describe('several outputs', () => {
  /** (2 x, 3 x) as one op; its gradients are given as they come. */
  function both(tape: Tape, x: Tensor): readonly [Tensor, Tensor] {
    const outs = tape.stack([x.shape, x.shape], 'both');
    const { kernels } = device;
    outs.forEach((out, i) => {
      kernels.affine(out, x, 2 + i, 0);
    });
    tape.recordJointly('both', [x], outs, [], (dys, gradients) =>
      dys.forEach((dy, i) => {
        gradients.overwrite([x], ([dx]) => kernels.affine(dx, dy, 2 + i, 0));
      }),
    );
    return [outs[0], outs[1]];
  }

  test.each([
    ['both are used', (tape: Tape, a: Tensor, b: Tensor) => add(tape, a, b), 5],
    ['the first is used', (_tape: Tape, a: Tensor) => a, 2],
    ['the second is used', (_tape: Tape, _a: Tensor, b: Tensor) => b, 3],
  ])('%s: the other counts as zero', async (_, use, slope) => {
    const before = arena.used;
    {
      using scope = new Scope(device);
      const { x, dx, learn } = setUp(scope, [3]);
      using tape = new Tape(device, { learn });
      tape.backward(sum(tape, use(tape, ...both(tape, x))));
      expect(await readFloats(dx)).toEqual(Float32Array.of(slope, slope, slope));
    }
    expect(arena.used).toBe(before);
  });

  test('a stack lies side by side and is freed as one', () => {
    const before = arena.used;
    {
      using scope = new Scope(device);
      const [a, b] = scope.stack([[2, 3], [4]], 'parts');
      expect([a.shape, b.shape, b.offset - a.offset]).toEqual([[2, 3], [4], 24]);
      expect(arena.used - before).toBe(bytes(10));
    }
    expect(arena.used).toBe(before);
  });
});

describe('checkFinite', () => {
  test('names the first op whose result is not finite, and how much of it', async () => {
    using scope = new Scope(device);
    const { x } = setUp(scope, [3]);
    device.write(x, Float32Array.of(1, -1, 2));
    using tape = new Tape(device, { checkFinite: true });
    exp(tape, log(tape, square(tape, log(tape, x))));
    await expect(tape.assertFinite()).rejects.toThrow(
      'log: expected finite results, found 1 of 3 NaN or infinite in f32[3].',
    );
  });

  test('names the op whose gradient is not finite, though its result is', async () => {
    using scope = new Scope(device);
    const { x, learn } = setUp(scope, [3]);
    device.write(x, Float32Array.of(1, 0, 2));
    using tape = new Tape(device, { learn, checkFinite: true });
    tape.backward(sum(tape, square(tape, sqrt(tape, multiply(tape, x, x)))));
    await expect(tape.assertFinite()).rejects.toThrow(
      'sqrt backward: expected finite results, found 1 of 3 NaN or infinite in f32[3].',
    );
  });

  test('says nothing when all is finite', async () => {
    using scope = new Scope(device);
    const { x, learn } = setUp(scope, [3]);
    using tape = new Tape(device, { learn, checkFinite: true });
    tape.backward(sum(tape, exp(tape, x)));
    await tape.assertFinite();
  });
});
