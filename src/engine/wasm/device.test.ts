/** Options of the device, its errors, and what does not depend on the number of threads. */
import { afterAll, describe, expect, test } from 'vitest';
import { DeviceError } from '../../base/errors.ts';
import { Scope } from '../scope.ts';
import { type Segment, Segments } from '../segments.ts';
import { readFloats } from '../transfer.ts';
import { familiesOf } from './attention.ts';
import { createWasmDevice, type Variant, type WasmDevice } from './index.ts';
import { missingKernels } from './platform-browser.ts';

const arenaBytes = 2 ** 27;

describe('options', () => {
  test.each([0, 1.5, 1000])('%d threads are refused', async (threads) => {
    await expect(createWasmDevice({ threads, arenaBytes })).rejects.toThrow(DeviceError);
  });
  test.each([0, 2 ** 20, 2 ** 33, Number.NaN])('%d bytes are refused', async (bytes) => {
    await expect(createWasmDevice({ arenaBytes: bytes })).rejects.toThrow(/64 MiB to 4 GiB/);
  });
  test('a module that does not compile is an error, not another variant', async () => {
    const loadModule = async () => Uint8Array.of(0, 97, 115, 109, 9, 9, 9, 9);
    await expect(createWasmDevice({ variant: 'wide', arenaBytes, loadModule })).rejects.toThrow(/compiles the 'wide'/);
  });
  test.each([
    ['/clone/src/engine/wasm/kernels/plain.wasm', /Run `npm run build:kernels` in the clone\.$/],
    ['/p/node_modules/gradient-quarantine/dist/engine/wasm/kernels/plain.wasm', /Install gradient-quarantine again/],
    ['/p/out/kernels/plain.wasm', /copy the folder node_modules\/gradient-quarantine\/dist\/\S+ beside .* loadModule/],
  ])('without %s it says what helps there', (path, fix) => {
    const { message } = missingKernels(new URL(`file://${path}`), 'no such file');
    expect(message).toMatch(fix);
    expect(message.includes('build:kernels')).toBe(path.includes('/src/'));
  });
  test('auto names what it took', async () => {
    using device = await createWasmDevice({ threads: 1, arenaBytes });
    expect(['wide', 'relaxed']).toContain(device.variant);
    expect(device.threads).toBe(1);
    expect(device.gflops).toBeGreaterThan(0);
  });
  test('long work gives the thread back where it reads', async () => {
    using device = await createWasmDevice({ threads: 1, arenaBytes, variant: 'plain' });
    using scope = new Scope(device);
    const value = scope.zeros([1], 'value');
    let heard = false;
    setImmediate(() => (heard = true));
    // Work that never gave the thread back would read for ever.
    while (!heard) await readFloats(value);
    expect(heard).toBe(true);
  });
  test('the whole of 4 GiB can be addressed', async () => {
    using device = await createWasmDevice({ threads: 2, arenaBytes: 2 ** 32, variant: 'plain' });
    using scope = new Scope(device);
    scope.empty([(device.arena.capacity - 2 ** 20) / 4], 'nearly all');
    const last = scope.from(new Float32Array(100_003).fill(2), [100_003], 'last');
    device.kernels.affine(last, last, 3, 1);
    expect((await readFloats(last)).every((value) => value === 7)).toBe(true);
    expect(last.offset).toBeGreaterThan(2 ** 32 - 2 ** 21);
  });
});

test.each([1, 3])('memory grows to what is used, in the middle of work, with %d threads', async (threads) => {
  using device = await createWasmDevice({ threads, arenaBytes: 100 * 2 ** 20, variant: 'plain' });
  using scope = new Scope(device);
  const elements = 5 * 2 ** 20;
  const first = scope.empty([elements], 'first');
  device.kernels.fill(first, 2);
  // Beyond what the memory begins with, and to its end, which is no whole step.
  const later = ['second', 'third'].map((name) => scope.empty([elements], name));
  const last = scope.empty([Math.floor((device.arena.capacity - device.arena.used) / 4)], 'last');
  for (const tensor of [...later, last]) device.kernels.fill(tensor, 2);
  device.kernels.affine(first, first, 3, 1);
  for (const tensor of [...later, last]) device.kernels.affine(tensor, tensor, 3, 1);
  for (const tensor of [first, ...later, last]) {
    expect((await readFloats(tensor)).every((value) => value === 7)).toBe(true);
  }
  expect(() => scope.empty([1], 'one too many')).toThrow(/allocate one too many/);
});

test('write and read copy', async () => {
  using device = await createWasmDevice({ threads: 1, arenaBytes });
  using scope = new Scope(device);
  const data = Float32Array.of(1, 2, 3);
  const tensor = scope.from(data, [3], 'x');
  data[0] = 9;
  const read = await readFloats(tensor);
  expect(Array.from(read)).toEqual([1, 2, 3]);
  read[1] = 9;
  expect(Array.from(await readFloats(tensor))).toEqual([1, 2, 3]);
});

const own = (queryStart: number, queryEnd: number, keyStart = queryStart): Segment => ({
  queryStart,
  queryEnd,
  prefixStart: 0,
  prefixEnd: 0,
  keyStart,
  keyEnd: keyStart + queryEnd - queryStart,
});

test('segments that share keys, directly or through others, are one family', () => {
  const sees = (segment: Segment, prefixStart: number, prefixEnd: number) => ({ ...segment, prefixStart, prefixEnd });
  const [a, b, c, d, e] = [own(0, 4), sees(own(4, 6), 0, 4), own(6, 9), sees(own(9, 10), 7, 8), own(10, 12)];
  expect(familiesOf([a, b, c, d, e])).toEqual([[a, b], [c, d], [e]]);
  const bridge = sees(own(12, 13), 5, 7);
  expect(familiesOf([a, b, c, d, e, bridge])).toEqual([[a, b, c, d, bridge], [e]]);
  expect(familiesOf([])).toEqual([]);
});

describe('the same bytes for 1, 2 and 3 threads', async () => {
  const variants: readonly Variant[] = ['plain', 'wide'];
  const opened: WasmDevice[] = [];
  for (const variant of variants) {
    for (const threads of [1, 2, 3]) opened.push(await createWasmDevice({ variant, threads, arenaBytes }));
  }
  afterAll(() => {
    for (const device of opened) device[Symbol.dispose]();
  });
  const numbers = Float32Array.from({ length: 2 ** 18 }, (_, i) => Math.sin(i * i + 0.3 * i));

  /** Attention both ways over packed rows that share a prompt, then reductions of what came out. */
  const run = async (device: WasmDevice): Promise<Float32Array[]> => {
    const [tokens, heads, keyHeads, size] = [700, 4, 2, 24];
    using scope = new Scope(device);
    const make = (label: string, shape: number[], start: number) =>
      scope.from(numbers.slice(start, start + shape.reduce((a, b) => a * b)), shape, label);
    const queries = ['q', 'out', 'dOut', 'dq'].map((name, i) => make(name, [tokens, heads, size], 10 * i));
    const keys = ['k', 'v', 'dk', 'dv'].map((name, i) => make(name, [tokens, keyHeads, size], 7 * i));
    const [[q, out, dOut, dq], [k, v, dk, dv]] = [queries, keys];
    const logSumExp = scope.empty([tokens, heads], 'logSumExp');
    const list = [own(0, 300), { ...own(300, 500), prefixStart: 0, prefixEnd: 150 }, own(500, 700)];
    const segments = new Segments(scope, list, tokens, tokens);
    const { kernels } = device;
    kernels.attention(out, logSumExp, q, k, v, segments, 0.2);
    kernels.attentionBackward(dq, dk, dv, dOut, out, logSumExp, q, k, v, segments, 0.2);
    const flat = out.view([tokens, heads * size]);
    const [sums, norm, weight] = [
      scope.empty([heads * size], 'sums'),
      scope.empty([1], 'norm'),
      scope.zeros([96], 'w'),
    ];
    kernels.sumFirst(sums, flat, false);
    kernels.sumSquares(norm, dq, false);
    const inverseRms = scope.empty([tokens], 'inverseRms');
    const [normed, dx] = [scope.empty(flat.shape, 'normed'), scope.empty(flat.shape, 'dx')];
    kernels.rmsNorm(normed, inverseRms, flat, sums, 1e-5);
    kernels.rmsNormBackward(dx, weight, normed, flat, sums, inverseRms, false);
    return await Promise.all([out, logSumExp, dq, dk, dv, sums, norm, normed, dx, weight].map(readFloats));
  };

  test.each(variants)('%s', async (variant) => {
    const [first, ...others] = opened.filter((device) => device.variant === variant);
    const expected = await run(first);
    expect(expected.every((values) => values.every(Number.isFinite))).toBe(true);
    for (const device of [...others, first]) {
      for (const [i, values] of (await run(device)).entries()) {
        expect(Buffer.compare(Buffer.from(values.buffer), Buffer.from(expected[i].buffer))).toBe(0);
      }
    }
  });
});
