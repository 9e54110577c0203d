/**
 * A row's result does not depend on how many rows are computed with it: the same bytes in a batch of 1, 5 and 64. Sampling
 * relies on it: a completion may not change with the batch it was drawn in.
 */

import { afterAll, describe, expect, test } from 'vitest';
import * as engine from '../../src/engine/index.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { blockScales } from './block-scales.ts';
import { normal as draw } from './case.ts';
import { findVariants, suiteArenaBytes } from './variants.ts';

const most = 64;
/** The batches, each as rows [start, end) of the 64. */
const batches: readonly [number, number][] = [
  [0, 1],
  [3, 4],
  [63, 64],
  [0, 5],
  [30, 35],
  [7, 40],
  [0, 64],
];

const drawn = new Map<string, Float32Array>();
function normal(name: string, shape: engine.Shape): Float32Array {
  const key = `${name} ${shape}`;
  const data = drawn.get(key) ?? draw(name, shape);
  drawn.set(key, data);
  return data;
}

interface RowCase {
  readonly name: string;
  /** Computes the rows [start, end), as one tensor whose first axis is the rows. */
  run(tape: engine.Tape, scope: engine.Scope, start: number, end: number): engine.Tensor;
}

function slice(scope: engine.Scope, name: string, width: number, start: number, end: number): engine.Tensor {
  const data = normal(name, [most, width]).subarray(start * width, end * width);
  return scope.from(data, [end - start, width], name);
}

function weightOf(scope: engine.Scope, name: string, shape: engine.Shape, freeze: boolean): engine.Tensor {
  const weight = scope.from(normal(name, shape), shape, name);
  if (freeze) scope.device.freeze(weight);
  return weight;
}

const products = [
  [7, 5],
  [64, 48],
  [256, 256],
  [300, 768],
  [1000, 130],
].flatMap(([inputs, outputs]): RowCase[] =>
  [true, false].flatMap((freeze): RowCase[] => [
    {
      name: `linear ${inputs}→${outputs}${freeze ? ' frozen' : ''}`,
      run(tape, scope, start, end) {
        const weight = weightOf(scope, 'weight', [outputs, inputs], freeze);
        return engine.linear(
          tape,
          slice(scope, 'x', inputs, start, end),
          weight,
          weightOf(scope, 'bias', [outputs], false),
        );
      },
    },
    {
      name: `adaptedLinear ${inputs}→${outputs}${freeze ? ' frozen' : ''}`,
      run(tape, scope, start, end) {
        const rank = 8;
        const weight = weightOf(scope, 'weight', [outputs, inputs], freeze);
        const [down, up] = [inputs, outputs].map((width) => weightOf(scope, `a${width}`, [4 * rank, width], false));
        const scales = blockScales(scope, end - start, 1, 0.5);
        const x = slice(scope, 'x', inputs, start, end);
        return engine.adaptedLinear(tape, x, weight, null, engine.splitAdapter(rank, down, up), scales);
      },
    },
  ]),
);

const layers: RowCase[] = [6, 256, 1001].flatMap((width): RowCase[] => [
  {
    name: `rmsNorm ${width}`,
    run: (tape, scope, start, end) =>
      engine.rmsNorm(tape, slice(scope, 'x', width, start, end), weightOf(scope, 'gain', [width], false), 1e-6),
  },
  {
    name: `swiglu ${width}`,
    run: (tape, scope, start, end) =>
      engine.swiglu(tape, slice(scope, 'gate', width, start, end), slice(scope, 'up', width, start, end)),
  },
  {
    name: `logProb ${width}`,
    run(tape, scope, start, end) {
      const targets = Int32Array.from({ length: end - start }, (_, i) => (start + i) % 89);
      const head = weightOf(scope, 'head', [89, width], true);
      return engine.logProb(tape, slice(scope, 'x', width, start, end), head, engine.tokenIds(scope, targets, 89));
    },
  },
]);

/** Decoding cases: every row has its own part of a cache and its own length; every third row also sees a shared prompt. */
const decode = [
  [4, 2, 8],
  [6, 2, 64],
  [2, 1, 128],
].map(([heads, keyHeads, size]): RowCase => {
  const [room, prompt] = [90, 33];
  return {
    name: `attention decode ${heads}/${keyHeads} heads of ${size}`,
    run(tape, scope, start, end) {
      const keys = most * room + prompt;
      const [k, v] = ['k', 'v'].map((name) => weightOf(scope, name, [keys, keyHeads, size], false));
      const q = engine.reshape(tape, slice(scope, 'q', heads * size, start, end), [end - start, heads, size]);
      const segments = Array.from({ length: end - start }, (_, i): engine.Segment => {
        const row = start + i;
        return {
          queryStart: i,
          queryEnd: i + 1,
          prefixStart: row % 3 === 0 ? keys - prompt : 0,
          prefixEnd: row % 3 === 0 ? keys : 0,
          keyStart: row * room,
          keyEnd: row * room + 1 + ((row * 31) % room),
        };
      });
      return engine.attention(tape, q, k, v, new engine.Segments(scope, segments, end - start, keys));
    },
  };
});

const cases = [...products, ...layers, ...decode];

/** The bytes of each row of the batch. */
async function rowBytes(device: engine.Device, row: RowCase, start: number, end: number): Promise<string[]> {
  using scope = new engine.Scope(device);
  using tape = new engine.Tape(device);
  const data = await engine.readFloats(row.run(tape, scope, start, end));
  const width = data.length / (end - start);
  return Array.from({ length: end - start }, (_, i) =>
    Buffer.from(data.slice(i * width, (i + 1) * width).buffer).toString('base64'),
  );
}

async function expectIndependent(device: engine.Device, row: RowCase): Promise<void> {
  const whole = await rowBytes(device, row, 0, most);
  for (const [start, end] of batches) {
    const found = await rowBytes(device, row, start, end);
    const different = found.flatMap((bytes, i) => (bytes === whole[start + i] ? [] : [start + i]));
    expect(different, `rows of the batch [${start}, ${end}) that differ`).toEqual([]);
  }
}

const { available, missing } = await findVariants();
for (const line of missing) console.warn(`wasm variant NOT tested on Node ${process.version}: ${line}`);

describe.each(available)('wasm %s', async (variant) => {
  const device = await createWasmDevice({ variant, threads: 2, arenaBytes: suiteArenaBytes });
  afterAll(() => device[Symbol.dispose]());
  test.each(cases)('$name', (row) => expectIndependent(device, row));
});
