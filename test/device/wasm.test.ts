/** Compares every variant of the wasm device with the reference, op by op and kernel by kernel, and with itself byte by byte. */
import { afterAll, describe, expect, test } from 'vitest';
import { readFloats, Scope, type UnaryKind } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import type { OpCase, Outcome } from './case.ts';
import { opCases } from './cases.ts';
import { compareKernelOutputs, type KernelCase, kernelCases, runKernels } from './kernel-cases.ts';
import { compareOutcomes, once, runCase } from './suite.ts';
import { findVariants, suiteArenaBytes } from './variants.ts';

/** Bound relative to the largest value: 16 units in the last place. The worst measured difference is 8.4e-7 (a sum of 4,000). */
const bound = 2e-6;

const reference = createReferenceDevice();
const { available, missing } = await findVariants();
for (const line of missing) console.warn(`wasm variant NOT tested on Node ${process.version}: ${line}`);

const cases = opCases();
const kernels = kernelCases();
// The reference is asked once for all variants.
const expectedOf = once((op: OpCase) => runCase(reference, op));
const expectedOutputs = once((kernel: KernelCase) => runKernels(reference, kernel));

/** The bits of all results of a case. */
const bytesOf = ({ output, gradients }: Outcome): Buffer[] =>
  [output, ...Object.values(gradients)].map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
const isSame = (found: readonly Buffer[], expected: readonly Buffer[]): boolean =>
  found.length === expected.length && found.every((bytes, i) => bytes.equals(expected[i]));

test('at least the plain variant compiles', () => {
  expect(available).toContain('plain');
});

describe.each(available)('%s', async (variant) => {
  const make = (threads: number) => createWasmDevice({ variant, threads, arenaBytes: suiteArenaBytes });
  // What two threads change, three change too: one variant shows it.
  const counts = variant === 'plain' ? [1, 3, 2] : [1, 3];
  const devices = await Promise.all(counts.map(make));
  const [device, three] = devices;
  afterAll(() => {
    for (const each of devices) each[Symbol.dispose]();
  });

  test.each(cases)('$name', async (op) => {
    const first = await runCase(device, op);
    const checks = compareOutcomes(op.name, first, await expectedOf(op), bound);
    expect(checks.filter(({ pass }) => !pass)).toEqual([]);
    const bytes = bytesOf(first);
    for (const other of devices) {
      expect(isSame(bytesOf(await runCase(other, op)), bytes), `the same bytes with ${other.threads} threads`).toBe(
        true,
      );
      expect(other.arena.used).toBe(0);
    }
  });

  test.each(kernels)('kernels: $name', async (kernel) => {
    const wanted = await expectedOutputs(kernel);
    for (const each of [device, three]) {
      const checks = compareKernelOutputs(kernel, await runKernels(each, kernel), wanted, bound);
      expect(checks.filter(({ pass }) => !pass)).toEqual([]);
      expect(each.arena.used).toBe(0);
    }
  });

  test.each<[UnaryKind, (x: number) => number, low: number, high: number]>([
    ['exp', Math.exp, -86, 88],
    ['log', Math.log, 1e-37, 1e37],
    ['tanh', Math.tanh, -12, 12],
    ['sqrt', Math.sqrt, 0, 1e30],
    ['reciprocal', (x) => 1 / x, 1e-30, 1e30],
  ])('%s within 3 units in the last place over its range, and right at its ends', async (kind, exact, low, high) => {
    using scope = new Scope(device);
    const count = 20_000;
    const at = (i: number): number => low + ((high - low) * i) / count;
    // Half of the points are evenly spaced, the other half are spaced by order of magnitude.
    const even = Array.from({ length: count }, (_, i) => at(i));
    const bySize = Array.from({ length: count }, (_, i) => high * 10 ** ((-30 * i) / count));
    const points = Float32Array.from([...even, ...bySize.filter((x) => x >= low), ...specials]);
    const x = scope.from(points, [points.length], 'x');
    device.kernels.unary(kind, x, x);
    const found = await readFloats(x);
    const wrong = [...points.keys()].filter((i) => !isNear(found[i], exact(points[i])));
    expect(wrong.map((i) => ({ x: points[i], found: found[i], exact: exact(points[i]) })).slice(0, 5)).toEqual([]);
  });
});

const specials = [0, -0, 1, -1, 1000, -1000, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];

/** Whether a result is within 3 units in the last place; one too small for a normal float32 may be 0. */
function isNear(found: number, exact: number): boolean {
  const rounded = Math.fround(exact);
  if (Object.is(found, rounded) || found === rounded) return true;
  if (Math.abs(exact) < 2 ** -125) return Math.abs(found) < 2 ** -125;
  return Math.abs(found - exact) <= 3 * 2 ** (Math.floor(Math.log2(Math.abs(exact))) - 23);
}
