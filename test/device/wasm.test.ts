/** Compares every variant of the wasm device with the reference, op by op and kernel by kernel, and with itself byte by byte. */
import { afterAll, describe, expect, test } from 'vitest';
import { readFloats, Scope, type UnaryKind } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import type { Outcome } from './case.ts';
import { opCases } from './cases.ts';
import { compareKernels, kernelCases } from './kernel-cases.ts';
import { compareOutcomes, runCase } from './suite.ts';
import { findVariants, suiteArenaBytes } from './variants.ts';

/** Bound relative to the largest value: 16 units in the last place. The worst measured difference is 8.4e-7 (a sum of 4,000). */
const bound = 2e-6;

const reference = createReferenceDevice();
const { available, missing } = await findVariants();
for (const line of missing) console.warn(`wasm variant NOT tested on Node ${process.version}: ${line}`);

const cases = opCases();
const expected = new Map<string, Promise<Outcome>>();
const expectedOf = (op: (typeof cases)[number]): Promise<Outcome> => {
  const known = expected.get(op.name) ?? runCase(reference, op);
  expected.set(op.name, known);
  return known;
};

/** The bits of all results of a case, as one text. */
const bytesOf = ({ output, gradients }: Outcome): string =>
  [output, ...Object.values(gradients)].map((values) => Buffer.from(values.buffer).toString('base64')).join(' ');

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
      expect(bytesOf(await runCase(other, op)) === bytes, `the same bytes with ${other.threads} threads`).toBe(true);
      expect(other.arena.used).toBe(0);
    }
  });

  test.each(kernelCases())('kernels: $name', async (kernel) => {
    for (const each of [device, three]) {
      const checks = await compareKernels(each, reference, kernel, bound);
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
