/** Every op of the engine at odd, single, empty and large shapes. */
import * as engine from '../../src/engine/index.ts';
import { frozen, type Input, ints, learn, normal, type OpCase } from './case.ts';
import { adapterCases } from './cases-adapter.ts';
import { attentionCases } from './cases-attention.ts';

type Shape = readonly number[];

const small: readonly Shape[] = [[1], [7], [3, 5], [2, 3, 4], [0], [4, 0]];
const large: Shape = [129, 257];

function positive(input: Input): Input {
  const { shape, role } = input;
  return {
    shape,
    role,
    get data() {
      return Float32Array.from(input.data, (x) => Math.abs(x) + 0.5);
    },
  };
}

function elementwise(): OpCase[] {
  const cases: OpCase[] = [];
  for (const shape of [...small, large]) {
    const differences = shape !== large;
    const unary = (
      name: string,
      x: Input,
      run: (tape: engine.Tape, x: engine.Tensor) => engine.Tensor,
      smooth = true,
    ) =>
      cases.push({
        name: `${name} [${shape}]`,
        inputs: { x },
        differences: differences && smooth,
        run: (tape, inputs) => run(tape, inputs['x']),
      });
    const x = learn('x', shape);
    unary('exp', x, engine.exp);
    unary('tanh', x, engine.tanh);
    unary('square', x, engine.square);
    unary('log', positive(x), engine.log);
    unary('sqrt', positive(x), engine.sqrt);
    unary('reciprocal', positive(x), engine.reciprocal);
    unary('affine', x, (tape, a) => engine.affine(tape, a, -1.5, 0.25));
    unary('clamp', x, (tape, a) => engine.clamp(tape, a, -0.5, 0.5), false);
    unary('reshape', x, (tape, a) => engine.reshape(tape, a, [1, a.size]));
    unary('sum', x, engine.sum);
    if (!shape.includes(0)) unary('meanAll', x, engine.meanAll);
    unary('sumFirst', x, engine.sumFirst);
    unary('sumLast', x, engine.sumLast);
  }
  return cases;
}

function binary(): OpCase[] {
  const pairs: readonly [Shape, Shape][] = [
    [[7], [7]],
    [[3, 5], [5]],
    [[3, 5], [1]],
    [
      [2, 3, 4],
      [3, 4],
    ],
    [[0], [0]],
    [large, large],
    [large, [257]],
    [[100, 101], [1]],
  ];
  const { add, subtract, multiply, divide, minimum, maximum } = engine;
  const ops = { add, subtract, multiply, divide, minimum, maximum };
  return pairs.flatMap(([left, right]) =>
    Object.entries(ops).map(([name, op]): OpCase => {
      const b = learn('b', right);
      return {
        name: `${name} [${left}] [${right}]`,
        inputs: { a: learn('a', left), b: name === 'divide' ? positive(b) : b },
        differences: left !== large && left[0] !== 100 && name !== 'minimum' && name !== 'maximum',
        run: (tape, { a, b: second }) => op(tape, a, second),
      };
    }),
  );
}

function dividedRows(): OpCase[] {
  return [
    [5, 3],
    [6, 2, 4],
    [9, 257],
  ].map((shape) => ({
    name: `rows divided and joined [${shape}]`,
    inputs: { x: learn('x', shape) },
    differences: true,
    run(tape, { x }) {
      const [first, second, none, last] = engine.divideRows(tape, x, [2, 1, 0, shape[0] - 3]);
      // One part twice, one as it is, one that nothing is made of; x itself beside its parts.
      const joined = engine.concatRows(tape, [engine.exp(tape, first), none, last, engine.tanh(tape, first), second]);
      return engine.concatRows(tape, [joined, x]);
    },
  }));
}

function sharedInput(): OpCase {
  return {
    name: 'one tensor used four times',
    inputs: { x: learn('x', [5, 6]) },
    differences: true,
    run(tape, { x }) {
      const y = engine.add(tape, x, x);
      const z = engine.multiply(tape, engine.reshape(tape, y, [6, 5]), engine.reshape(tape, x, [6, 5]));
      return engine.add(tape, z, engine.reshape(tape, x, [6, 5]));
    },
  };
}

function products(): OpCase[] {
  const shapes: readonly [number, number, number][] = [
    [1, 1, 1],
    [3, 5, 7],
    [17, 33, 9],
    [0, 4, 5],
    [4, 0, 5],
    [4, 5, 0],
    [6, 16, 16],
    [130, 70, 300],
    [65, 513, 129],
  ];
  const cases: OpCase[] = [];
  for (const [m, k, n] of shapes) {
    for (const transposeA of [false, true]) {
      for (const transposeB of [false, true]) {
        for (const batch of [[], [3]]) {
          if (batch.length > 0 && m > 100) continue;
          cases.push({
            name: `matmul ${m}×${k}×${n}${transposeA ? ' aᵀ' : ''}${transposeB ? ' bᵀ' : ''}${batch.length > 0 ? ' ×3' : ''}`,
            inputs: {
              a: learn('a', [...batch, ...(transposeA ? [k, m] : [m, k])]),
              b: learn('b', [...batch, ...(transposeB ? [n, k] : [k, n])]),
            },
            differences: m * k * n < 6000,
            run: (tape, { a, b }) => engine.matmul(tape, a, b, { transposeA, transposeB }),
          });
        }
      }
    }
  }
  return cases;
}

function inverses(): OpCase[] {
  return [0, 1, 2, 3, 8, 33].map(
    (size): OpCase => ({
      name: `invert ${size}×${size}`,
      inputs: { x: { ...learn('x', [size, size]), data: wellConditioned(size) } },
      differences: true,
      run: (tape, { x }) => engine.invert(tape, x),
    }),
  );
}

/** A random matrix with a dominant anti-diagonal, so that inverting it needs pivots. */
function wellConditioned(size: number): Float32Array {
  const data = normal('inverse', [size, size]);
  for (let row = 0; row < size; row++) data[row * size + size - 1 - row] += 2 * Math.sqrt(size) + 1;
  return data;
}

function layers(): OpCase[] {
  const cases: OpCase[] = [];
  for (const [rows, channels, outputs] of [
    [1, 1, 1],
    [5, 7, 3],
    [0, 4, 4],
    [33, 64, 48],
    [200, 192, 130],
  ]) {
    const differences = rows < 100;
    const x = learn('x', [rows, channels]);
    cases.push(
      {
        name: `linear ${rows}×${channels}→${outputs}`,
        inputs: { x, weight: learn('w', [outputs, channels]), bias: learn('bias', [outputs]) },
        differences,
        run: (tape, { x: input, weight, bias }) => engine.linear(tape, input, weight, bias),
      },
      {
        name: `linear with a frozen weight ${rows}×${channels}→${outputs}`,
        inputs: { x, weight: frozen('w', [outputs, channels]) },
        differences,
        run(tape, { x: input, weight }) {
          tape.device.freeze(weight);
          return engine.linear(tape, input, weight);
        },
      },
      {
        name: `rmsNorm ${rows}×${channels}`,
        inputs: { x, weight: learn('gain', [channels]) },
        differences,
        run: (tape, { x: input, weight }) => engine.rmsNorm(tape, input, weight, 1e-5),
      },
      {
        name: `rmsNorm of a frozen input ${rows}×${channels}`,
        inputs: { x: frozen('x', [rows, channels]), weight: learn('gain', [channels]) },
        differences,
        run: (tape, { x: input, weight }) => engine.rmsNorm(tape, input, weight, 1e-5),
      },
      {
        name: `swiglu ${rows}×${channels}`,
        inputs: { gate: learn('gate', [rows, channels], 2), up: learn('up', [rows, channels]) },
        differences,
        run: (tape, { gate, up }) => engine.swiglu(tape, gate, up),
      },
    );
  }
  // More rows than one block adds up alone.
  cases.push({
    name: 'rmsNorm 1300×24',
    inputs: { x: learn('x', [1300, 24]), weight: learn('gain', [24]) },
    differences: false,
    run: (tape, { x, weight }) => engine.rmsNorm(tape, x, weight, 1e-5),
  });
  return cases;
}

/** Cases with weights that lie side by side, as a decoder's do, and with a product that is added to another tensor. */
function sharedInputs(): OpCase[] {
  const widths: readonly [number, number, readonly number[]][] = [
    [3, 5, [4, 2, 1]],
    [70, 320, [128, 64, 64]],
    [64, 264, [72, 72]],
    [300, 320, [64, 64, 64]],
  ];
  const together = widths.flatMap(([rows, channels, outputs]) =>
    outputs.map(
      (_, which): OpCase => ({
        name: `linears ${rows}×${channels}→${outputs.join('+')}, ${which}`,
        inputs: {
          x: frozen('x', [rows, channels]),
          weights: frozen('w', [outputs.reduce((sum, width) => sum + width, 0), channels]),
        },
        differences: false,
        run(tape, { x, weights }) {
          let start = 0;
          const layers = outputs.map((width) => {
            start += width;
            return { weight: weights.rows(start - width, start), bias: null };
          });
          return engine.linears(tape, x, layers)[which];
        },
      }),
    ),
  );
  const onto = [
    [5, 7, 3],
    [70, 320, 128],
  ].map(
    ([rows, channels, outputs]): OpCase => ({
      name: `linear onto ${rows}×${channels}→${outputs}`,
      inputs: {
        x: learn('x', [rows, channels]),
        weight: learn('w', [outputs, channels]),
        onto: learn('onto', [rows, outputs]),
      },
      differences: rows < 50,
      run: (tape, { x, weight, onto: sum }) => engine.linear(tape, x, weight, null, sum),
    }),
  );
  return [...together, ...onto];
}

function rotations(): OpCase[] {
  const scaling = { factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalMaxPositions: 64 };
  return [
    [1, 1, 2, null],
    [5, 3, 10, null],
    [9, 2, 16, scaling],
    [0, 2, 4, null],
    [70, 4, 64, scaling],
  ].flatMap(([tokens, heads, size, rule]): OpCase[] => {
    const [T, H, D] = [Number(tokens), Number(heads), Number(size)];
    const positions = ints(Array.from({ length: T }, (_, t) => (t * 3) % 40));
    const table = (scope: engine.Scope): engine.Tensor =>
      engine.rotaryTable(scope, 40, engine.inverseFrequencies(D, 100, rule === null ? null : scaling));
    const normed: OpCase = {
      name: `normRotary ${T}×${H}×${D}${rule === null ? '' : ' llama3'}`,
      inputs: { x: learn('x', [T, H, D]), weight: learn('gain', [D]), positions },
      differences: T < 70,
      run: (tape, { x, weight, positions: at }, scope) => engine.normRotary(tape, x, weight, 1e-5, at, table(scope)),
    };
    const gained: OpCase = {
      ...normed,
      name: `${normed.name} with a frozen gain`,
      inputs: { x: learn('x', [T, H, D]), weight: frozen('gain', [D]), positions },
    };
    const turned: OpCase = {
      name: `rotary ${T}×${H}×${D}${rule === null ? '' : ' llama3'}`,
      inputs: { x: learn('x', [T, H, D]), positions },
      differences: T < 70,
      run: (tape, { x, positions: at }, scope) => engine.rotary(tape, x, at, table(scope)),
    };
    return [turned, normed, gained];
  });
}

function tokens(): OpCase[] {
  return [
    [1, 1, 1],
    [9, 5, 7],
    [0, 4, 5],
    [60, 33, 70],
    [3, 2, 40_004],
    [17, 3, 300_000],
  ].flatMap(([count, channels, vocabulary]): OpCase[] => {
    const ids = ints(Array.from({ length: count }, (_, i) => (i * i * 7 + 3) % vocabulary));
    const huge = vocabulary > 1000;
    const table = huge ? frozen('table', [vocabulary, channels]) : learn('table', [vocabulary, channels]);
    const logProbCase: OpCase = {
      name: `logProb ${count}×${channels}→${vocabulary}`,
      inputs: { hidden: learn('hidden', [count, channels]), head: table, ids },
      differences: !huge,
      run: (tape, { hidden, head, ids: targets }) => engine.logProb(tape, hidden, head, targets),
    };
    const embeddingCase: OpCase = {
      name: `embedding ${count} of ${vocabulary}×${channels}`,
      inputs: { table, ids },
      differences: !huge,
      run: (tape, { table: rows, ids: index }) => engine.embedding(tape, rows, index),
    };
    const frozenHead: OpCase = {
      ...logProbCase,
      name: `${logProbCase.name} of a frozen head`,
      inputs: { ...logProbCase.inputs, head: frozen('table', [vocabulary, channels]) },
    };
    return huge ? [logProbCase] : [logProbCase, frozenHead, embeddingCase];
  });
}

export function opCases(): OpCase[] {
  return [
    ...elementwise(),
    ...binary(),
    sharedInput(),
    ...dividedRows(),
    ...products(),
    ...inverses(),
    ...layers(),
    ...sharedInputs(),
    ...rotations(),
    ...tokens(),
    ...attentionCases(),
    ...adapterCases(),
  ];
}
