/** The checks that a GPU's lanes go through, on a device of plain loops, and with mistakes planted in it. */
import { describe, expect, it } from 'vitest';
import type { Kernels } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { compareAttention, compareProducts, compareSteps } from '../cuda/lane-kernels-suite.ts';
import { compareLanes, shape } from '../cuda/lanes-suite.ts';
import { adapterCases } from './cases-adapter.ts';
import { createLaneDevice } from './lane-device.ts';
import { type Check, compareOutcomes, runCase } from './suite.ts';

const tiny = shape(16, 2, 2);
const few = { groups: 2, rows: 6, rank: 2 };
const failed = (checks: readonly Check[]): readonly string[] =>
  checks.filter(({ pass }) => !pass).map(({ quantity }) => quantity);

describe('lanes on a device of plain loops', () => {
  it('each get the bytes that they get alone', async () => {
    const device = createLaneDevice();
    const checks = [
      ...(await compareSteps(device)),
      ...(await compareProducts(device, [[24, 20]])),
      ...(await compareAttention(device, 2, 8)),
      ...(await compareLanes(device, 'tiny', tiny, few)),
    ];
    expect(failed(checks)).toEqual([]);
    expect(device.arena.used).toBe(0);
  });

  it.each(adapterCases().map((op) => [op.name, op] as const))(
    'a lane alone computes %s as the reference does',
    async (_name, op) => {
      const [found, expected] = [await runCase(createLaneDevice(), op), await runCase(createReferenceDevice(), op)];
      expect(failed(compareOutcomes(op.name, found, expected, 2e-6))).toEqual([]);
    },
  );

  const mistakes: Readonly<Record<string, (kernels: Kernels) => NonNullable<Kernels['laneProducts']>>> = {
    'the factor of the first lane for all': (kernels) => (products, options) => {
      for (const { out, a, b } of products) {
        const first = products[0].b;
        kernels.matmul(out, a, !options.transposeA && first.size === b.size ? first : b, options);
      }
    },
    'a gradient that sums over the rows of the next lane': (kernels) => (products, options) => {
      products.forEach((each, i) => {
        const { out, a, b } = options.transposeA ? { ...(products[i + 1] ?? each), out: each.out } : each;
        kernels.matmul(out, a, b, options);
      });
    },
    'the last lane left out': (kernels) => (products, options) => {
      for (const { out, a, b } of products.slice(0, Math.max(1, products.length - 1)))
        kernels.matmul(out, a, b, options);
    },
  };
  it.each(Object.keys(mistakes))('finds a planted mistake: %s', async (name) => {
    const device = createLaneDevice();
    device.kernels.laneProducts = mistakes[name](device.kernels);
    expect(failed(await compareLanes(device, 'tiny', tiny, few)).length).toBeGreaterThan(0);
  });
});
