/** Every op, given tensors it cannot take, says which call failed, what it expected and what it found. */
import { describe, expect, test } from 'vitest';
import { DeviceError, ShapeError } from '../../base/errors.ts';
import * as engine from '../index.ts';
import { createReferenceDevice } from '../reference/index.ts';

type Make = (shape: engine.Shape, label: string, dtype?: engine.DType) => engine.Tensor;
/** Runs an op with every tensor right; `make` is called once for each argument, in order. */
type Use = (tape: engine.Tape, make: Make, scope: engine.Scope) => engine.Tensor;

const device = createReferenceDevice({ arenaBytes: 2 ** 22 });
const other = createReferenceDevice({ arenaBytes: 2 ** 22 });

const uses: Readonly<Record<string, Use>> = {
  add: (tape, make) => engine.add(tape, make([2, 3], 'a'), make([3], 'b')),
  subtract: (tape, make) => engine.subtract(tape, make([2, 3], 'a'), make([3], 'b')),
  multiply: (tape, make) => engine.multiply(tape, make([2, 3], 'a'), make([3], 'b')),
  divide: (tape, make) => engine.divide(tape, make([2, 3], 'a'), make([3], 'b')),
  minimum: (tape, make) => engine.minimum(tape, make([2, 3], 'a'), make([3], 'b')),
  maximum: (tape, make) => engine.maximum(tape, make([2, 3], 'a'), make([3], 'b')),
  exp: (tape, make) => engine.exp(tape, make([4], 'x')),
  log: (tape, make) => engine.log(tape, make([4], 'x')),
  sqrt: (tape, make) => engine.sqrt(tape, make([4], 'x')),
  reciprocal: (tape, make) => engine.reciprocal(tape, make([4], 'x')),
  tanh: (tape, make) => engine.tanh(tape, make([4], 'x')),
  square: (tape, make) => engine.square(tape, make([4], 'x')),
  affine: (tape, make) => engine.affine(tape, make([4], 'x'), 2, 1),
  clamp: (tape, make) => engine.clamp(tape, make([4], 'x'), 0, 1),
  reshape: (tape, make) => engine.reshape(tape, make([4], 'x'), [2, 2]),
  sum: (tape, make) => engine.sum(tape, make([4], 'x')),
  meanAll: (tape, make) => engine.meanAll(tape, make([4], 'x')),
  sumFirst: (tape, make) => engine.sumFirst(tape, make([4, 2], 'x')),
  sumLast: (tape, make) => engine.sumLast(tape, make([4, 2], 'x')),
  matmul: (tape, make) => engine.matmul(tape, make([2, 3], 'a'), make([3, 4], 'b')),
  invert: (tape, make) => engine.invert(tape, make([2, 2], 'matrix')),
  linear: (tape, make) => engine.linear(tape, make([2, 3], 'x'), make([4, 3], 'weight'), make([4], 'bias')),
  linears(tape, make) {
    const [x, onto] = [make([2, 3], 'x'), make([2, 4], 'onto')];
    const layers = ['first', 'second'].map((label) => ({ weight: make([4, 3], label), bias: null }));
    const [first, second] = engine.linears(tape, x, layers);
    return engine.add(tape, engine.linear(tape, x, layers[0].weight, null, onto), engine.add(tape, first, second));
  },
  divideRows: (tape, make) => engine.divideRows(tape, make([3, 2], 'x'), [1, 2])[0],
  concatRows: (tape, make) => engine.concatRows(tape, [make([1, 2], 'first'), make([3, 2], 'second')]),
  embedding: (tape, make) => engine.embedding(tape, make([5, 2], 'table'), make([3], 'ids', 'i32')),
  rmsNorm: (tape, make) => engine.rmsNorm(tape, make([2, 3], 'x'), make([3], 'weight'), 1e-6),
  rotary: (tape, make) =>
    engine.rotary(tape, make([3, 2, 4], 'x'), make([3], 'positions', 'i32'), make([9, 4], 'table')),
  normRotary(tape, make) {
    const [x, weight] = [make([3, 2, 4], 'x'), make([4], 'weight')];
    return engine.normRotary(tape, x, weight, 1e-6, make([3], 'positions', 'i32'), make([9, 4], 'table'));
  },
  turnHeads(tape, make) {
    const heads = { q: make([3, 2, 4], 'q'), k: make([3, 1, 4], 'k'), v: make([3, 1, 4], 'v') };
    const norms = { q: make([4], 'norm of q'), k: make([4], 'norm of k'), epsilon: 1e-6 };
    const turns = { positions: make([3], 'positions', 'i32'), table: make([9, 4], 'table'), norms };
    const [keys, values] = [make([8, 1, 4], 'keys'), make([8, 1, 4], 'values')];
    return engine.turnHeads(tape, heads, turns, { keys, values, slots: make([3], 'slots', 'i32'), see: 'cache' }).q;
  },
  jointLinears(tape, make) {
    const [x, onto] = [make([3, 2], 'x'), make([3, 4], 'onto')];
    const [down, up, coefficients] = [make([4, 2], 'down'), make([4, 4], 'up'), make([3, 2], 'coefficients')];
    const adapters = [{ rank: 1, down, up, learnDown: down, learnUp: up }];
    return engine.jointLinears(tape, x, [make([4, 2], 'weight')], { adapters, coefficients }, onto).base;
  },
  jointNorm: (tape, make) =>
    engine.jointNorm(tape, { base: make([2, 3], 'base'), change: make([2, 3], 'change') }, make([3], 'weight'), 1e-6),
  jointSwiglu: (tape, make) => engine.jointSwiglu(tape, { base: make([2, 6], 'base'), change: make([2, 6], 'change') }),
  jointTurn(tape, make) {
    const sum = { base: make([3, 16], 'base'), change: make([3, 16], 'change') };
    const norms = { q: make([4], 'norm of q'), k: make([4], 'norm of k'), epsilon: 1e-6 };
    const turns = { positions: make([3], 'positions', 'i32'), table: make([9, 4], 'table'), norms };
    const [keys, values] = [make([8, 1, 4], 'keys'), make([8, 1, 4], 'values')];
    return engine.jointTurn(tape, sum, turns, { keys, values, slots: make([3], 'slots', 'i32'), see: 'cache' });
  },
  swiglu: (tape, make) => engine.swiglu(tape, make([2, 3], 'gate'), make([2, 3], 'up')),
  attention: (tape, make, scope) =>
    engine.attention(
      tape,
      make([3, 2, 4], 'q'),
      make([3, 1, 4], 'k'),
      make([3, 1, 4], 'v'),
      engine.Segments.packed(scope, [1, 2]),
    ),
  logProb: (tape, make) =>
    engine.logProb(tape, make([3, 2], 'hidden'), make([5, 2], 'head'), make([3], 'targets', 'i32')),
  nextLogits: (tape, make) => engine.nextLogits(tape, make([3, 2], 'hidden'), make([5, 2], 'head')),
  adaptedLinear(tape, make) {
    const [x, weight, bias] = [make([3, 2], 'x'), make([4, 2], 'weight'), make([4], 'bias')];
    const [down, up] = [make([4, 2], 'down'), make([4, 4], 'up')];
    const [forward, through, learn] = ['forward', 'through', 'learn'].map((label) => make([3, 2], label));
    const adapter = { rank: 1, down, up, learnDown: down, learnUp: up };
    return engine.adaptedLinear(tape, x, weight, bias, adapter, { forward, through, learn });
  },
  adaptedLinears(tape, make) {
    const [x, weight, onto] = [make([3, 2], 'x'), make([4, 2], 'weight'), make([3, 4], 'onto')];
    const [down, up] = [make([4, 2], 'down'), make([4, 4], 'up')];
    const [forward, through, learn] = ['forward', 'through', 'learn'].map((label) => make([3, 2], label));
    const layer = { weight, bias: null, adapter: { rank: 1, down, up, learnDown: down, learnUp: up } };
    return engine.adaptedLinears(tape, x, [layer, layer], { forward, through, learn }, onto)[0];
  },
};

/** Every way to make exactly one argument wrong. */
interface Slip {
  readonly kind: string;
  readonly make: (right: Make, shape: engine.Shape, label: string, dtype: engine.DType) => engine.Tensor;
}

const slips: readonly Slip[] = [
  { kind: 'dtype', make: (right, shape, label, dtype) => right(shape, label, dtype === 'f32' ? 'i32' : 'f32') },
  { kind: '16-bit dtype', make: (right, shape, label) => right(shape, label, 'bf16') },
  {
    kind: 'lifetime',
    make(_right, shape, label, dtype) {
      using scope = new engine.Scope(device);
      return scope.empty(shape, label, dtype);
    },
  },
  {
    kind: 'device',
    make: (_right, shape, label, dtype) => engine.Tensor.empty(other, shape, dtype, label),
  },
];

function runWith(use: Use, wrong: number | null, slip: Slip | null): string[] {
  const labels: string[] = [];
  using scope = new engine.Scope(device);
  using tape = new engine.Tape(device);
  const right: Make = (shape, label, dtype = 'f32') => {
    const tensor = scope.empty(shape, label, dtype);
    if (dtype !== 'bf16') device.kernels.fill(tensor, 1);
    return tensor;
  };
  use(
    tape,
    (shape, label, dtype = 'f32') => {
      labels.push(label);
      const chosen = slip !== null && labels.length - 1 === wrong;
      return chosen ? slip.make(right, shape, label, dtype) : right(shape, label, dtype);
    },
    scope,
  );
  return labels;
}

function failureOf(body: () => void): unknown {
  try {
    body();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Ops over several layers report errors under the name of the op over one. */
const nameOf = (op: string): string => op.replace(/linears$/i, (name) => name.slice(0, -1));

for (const [op, use] of Object.entries(uses)) {
  describe(op, () => {
    const labels = runWith(use, null, null);
    const slipsOf = op === 'reshape' ? slips.filter(({ kind }) => !kind.includes('dtype')) : slips;
    for (const [argument, label] of labels.entries()) {
      test.each(slipsOf)(`${label} of the wrong $kind`, (slip) => {
        const before = device.arena.used;
        const failure = failureOf(() => runWith(use, argument, slip));
        expect(failure).toBeInstanceOf(slip.kind === 'device' ? DeviceError : ShapeError);
        const { call, expected, found } = (failure as ShapeError).complaint;
        expect(call).toContain(nameOf(op));
        expect(`${expected} ${found}`).toContain(label);
        expect(device.arena.used).toBe(before);
      });
    }
  });
}

/** Each entry: an argument of the op, and shapes it cannot have while the others stay as they are. */
const misshapes: Readonly<Record<string, readonly [argument: string, ...shapes: engine.Shape[]][]>> = {
  add: [['b', [2], [3, 2], [2, 2, 3], [0]]],
  multiply: [['a', [3, 2], [2], [1]]],
  reshape: [['x', [3], [5], [2, 3]]],
  meanAll: [['x', [0], [3, 0]]],
  sumFirst: [['x', []]],
  sumLast: [['x', []]],
  matmul: [
    ['a', [2, 4], [3], [1, 2, 3], []],
    ['b', [4, 4], [4, 3], [3], [2, 3, 4]],
  ],
  invert: [['matrix', [2, 3], [4], [2, 2, 2]]],
  linear: [
    ['x', [2, 4], [3, 2], []],
    ['weight', [4, 2], [3], [1, 4, 3]],
    ['bias', [3], [4, 1], []],
  ],
  divideRows: [['x', [4, 2], [2, 2], []]],
  concatRows: [
    ['first', [1, 3], [1]],
    ['second', [3, 1], [3]],
  ],
  embedding: [
    ['table', [5], [5, 2, 1]],
    ['ids', [3, 1], []],
  ],
  rmsNorm: [
    ['x', [3, 2], [], [4]],
    ['weight', [2], [3, 1]],
  ],
  rotary: [
    ['x', [3, 8], [2, 2, 4], [3, 2, 6], [3, 2, 5]],
    ['positions', [2], [3, 1]],
    ['table', [9, 2], [36]],
  ],
  normRotary: [
    ['x', [3, 8], [2, 2, 4], [3, 2, 6], [3, 2, 5]],
    ['weight', [3], [4, 1]],
    ['positions', [2], [3, 1]],
    ['table', [9, 2], [36]],
  ],
  turnHeads: [
    ['q', [3, 8], [2, 2, 4], [3, 2, 6]],
    ['k', [3, 4], [2, 1, 4], [3, 2, 4], [3, 1, 6]],
    ['v', [3, 2, 4], [2, 1, 4], [3, 4]],
    ['norm of q', [3], [4, 1]],
    ['norm of k', [2], [4, 1]],
    ['positions', [2], [3, 1]],
    ['table', [9, 2], [36]],
    ['keys', [8, 4], [8, 2, 4], [8, 1, 6]],
    ['values', [7, 1, 4], [8, 4]],
    ['slots', [2], [3, 1]],
  ],
  jointLinears: [
    ['x', [3, 3], [6]],
    ['weight', [4, 3], [3, 2], [8]],
    ['down', [4, 3], [8]],
    ['up', [4, 3], [2, 4]],
    ['coefficients', [2, 2], [3, 1]],
    ['onto', [3, 3], [2, 4]],
  ],
  jointNorm: [
    ['base', [2, 2], [6]],
    ['change', [3, 2], [6]],
    ['weight', [2], [3, 1]],
  ],
  jointSwiglu: [
    ['base', [2, 5], [12]],
    ['change', [2, 5], [12]],
  ],
  jointTurn: [
    ['base', [3, 14], [3, 8], [48]],
    ['change', [3, 12], [48]],
    ['norm of q', [3], [4, 1]],
    ['norm of k', [2], [4, 1]],
    ['positions', [2], [3, 1]],
    ['table', [9, 2], [36]],
    ['keys', [8, 4], [8, 1, 6]],
    ['values', [7, 1, 4], [8, 4]],
    ['slots', [2], [3, 1]],
  ],
  swiglu: [
    ['gate', [3, 2], [6]],
    ['up', [3, 2], [6], [2, 3, 1]],
  ],
  attention: [
    ['q', [2, 2, 4], [3, 8], [3, 2, 2], [4, 2, 4]],
    ['k', [3, 1, 2], [4, 1, 4], [3, 4], [3, 3, 4], [3, 0, 4]],
    ['v', [3, 2, 4], [3, 1, 2], [2, 1, 4]],
  ],
  logProb: [
    ['hidden', [3, 3], [6], [2, 2]],
    ['head', [5, 3], [10]],
    ['targets', [4], [3, 1]],
  ],
  nextLogits: [
    ['hidden', [3, 3], [2], [3, 2, 2]],
    ['head', [5, 3], [2]],
  ],
  adaptedLinear: [
    ['x', [3, 3], [6], [2, 2]],
    ['weight', [3, 2], [4, 3], [8]],
    ['bias', [3], [4, 1]],
    ['down', [3, 2], [4, 3], [8, 2], [8]],
    ['up', [3, 4], [4, 3], [2, 4], [16]],
    ['forward', [2, 2], [3, 1], [6]],
    ['through', [2, 2], [3, 4]],
    ['learn', [4, 2], [3]],
  ],
};

for (const [op, places] of Object.entries(misshapes)) {
  const cases = places.flatMap(([label, ...shapes]) => shapes.map((shape) => ({ label, shape })));
  test.each(cases)(`${op} with $label of shape [$shape]`, ({ label, shape }) => {
    const before = device.arena.used;
    const argument = runWith(uses[op], null, null).indexOf(label);
    const slip: Slip = { kind: 'shape', make: (right, _shape, name, dtype) => right(shape, name, dtype) };
    const failure = failureOf(() => runWith(uses[op], argument, slip));
    expect(failure).toBeInstanceOf(ShapeError);
    const { call, expected, found } = (failure as ShapeError).complaint;
    expect(call).toContain(op);
    expect(expected).not.toBe('');
    expect(found).not.toBe('');
    expect(device.arena.used).toBe(before);
  });
}

test('ids outside the vocabulary are found where they are made', () => {
  using scope = new engine.Scope(device);
  const before = device.arena.used;
  const make = (ids: readonly number[]) => engine.tokenIds(scope, Int32Array.from(ids), 10);
  expect(() => make([3, 10, 1])).toThrow('token ids: expected ids from 0 to 9, found 10 at position 1.');
  expect(() => make([-1])).toThrow(ShapeError);
  expect(device.arena.used).toBe(before);
  expect(make([0, 9]).shape).toEqual([2]);
});

test('every exported op is in the table above', () => {
  const notOps = new Set(
    ['Arena', 'AdamW', 'Scope', 'Segments', 'Tape', 'Tensor', 'sizeOf', 'readFloats', 'tokenIds'].concat(
      ['linearWarmup', 'warmupCosine', 'inverseFrequencies', 'rotaryTable'],
      ['splitAdapter', 'bytesOf', 'readInts', 'segmentColumns', 'describeTensor', 'sampleRows', 'momentsOf'],
      ['CountingDevice', 'readSlab', 'writeSlab'],
      ['jointFits', 'sumSquaresOf'],
      // Needs kernels that the reference device lacks: test/device/lanes.test.ts.
      ['laneLinears'],
    ),
  );
  const ops = Object.keys(engine).filter((name) => !notOps.has(name));
  expect(ops.sort()).toEqual(Object.keys(uses).sort());
});
