/** Every variant of the wasm device against the reference, op by op and kernel by kernel, and byte by byte against itself. */
import { afterAll, describe, expect, test } from 'vitest';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import type { Outcome } from './case.ts';
import { opCases } from './cases.ts';
import { compareKernels, kernelCases } from './kernel-cases.ts';
import { compareOutcomes, runCase } from './suite.ts';
import { findVariants, suiteArenaBytes } from './variants.ts';

/** Relative to the largest value. Sums are taken in float32 in blocks; the longest here has 9,000 terms. */
const bound = 2e-5;

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
  const [device, two, three] = await Promise.all([make(1), make(2), make(3)]);
  afterAll(() => {
    for (const each of [device, two, three]) each[Symbol.dispose]();
  });

  test.each(cases)('$name', async (op) => {
    const first = await runCase(device, op);
    const checks = compareOutcomes(op.name, first, await expectedOf(op), bound);
    expect(checks.filter(({ pass }) => !pass)).toEqual([]);
    const bytes = bytesOf(first);
    for (const other of [device, two, three]) {
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
});
