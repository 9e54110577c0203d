/** What the op hands to a device that applies adapters together: such a device, put together from the reference's kernels, agrees with it. */
import { expect, test } from 'vitest';
import { type Kernels, Scope } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { unrecordedCase } from './cases-adapter.ts';
import { compareOutcomes, runCase } from './suite.ts';
import { withKernels } from './wrap.ts';

const reference = createReferenceDevice();
const plain = { transposeA: false, transposeB: false, accumulate: false };
let calls = 0;

const together = withKernels(
  reference,
  (kernels): Partial<Kernels> => ({
    blockProduct: () => expect.unreachable('layers that are applied together need no change of their own'),
    adaptedProducts(outs, hs, onto, x, weights, downs, ups, coefficients, rank) {
      calls++;
      using scope = new Scope(reference);
      outs.forEach((out, i) => {
        kernels.matmul(hs[i], x, downs[i], { ...plain, transposeB: true });
        const scaled = scope.empty(hs[i].shape, 'scaled');
        kernels.scaleBlocks(scaled, hs[i], coefficients, rank, 0);
        kernels.matmul(out, scaled, ups[i], plain);
        kernels.matmul(out, x, weights[i], { ...plain, transposeB: true, accumulate: true });
        if (i === 0 && onto !== null) kernels.add(out, onto);
      });
    },
  }),
);

const small = { tokens: 5, channels: 6, rank: 2 };
test.each([
  unrecordedCase(1, { ...small, outputs: [8, 4] }),
  unrecordedCase(0, { ...small, outputs: [8, 4], onto: true }),
  unrecordedCase(1, { ...small, outputs: [8, 4], onto: true, factors: 2 }),
  unrecordedCase(0, { ...small, outputs: [7], onto: true }),
])('$name', async (op) => {
  const before = calls;
  const checks = compareOutcomes(op.name, await runCase(together, op), await runCase(reference, op), 1e-5);
  expect(calls).toBe(before + 1);
  expect(checks.filter(({ pass }) => !pass)).toEqual([]);
  expect(reference.arena.used).toBe(0);
});
