/**
 * Linear layers with split adapters where nothing is recorded: the changes come first, and the base products are added to them, neighbours
 * of equal shape together where there are a few rows.
 */
import type { Device, Kernels, Tensor } from '../index.ts';
import type { Blas } from './blas.ts';
import { multiplyBatch, transposed } from './products.ts';
import type { Queue } from './queue.ts';

export function adaptedKernels(queue: Queue, blas: Blas, home: () => Device): Pick<Kernels, 'adaptedProducts'> {
  return {
    adaptedProducts(outs, hs, onto, x, weights, downs, ups, coefficients, rank) {
      const { kernels } = home();
      kernels.products?.(hs, x, downs);
      outs.forEach((out, i) => {
        kernels.blockProduct?.(out, i === 0 ? onto : null, [hs[i]], [ups[i]], coefficients, rank);
      });
      for (const { start, end } of equalRuns(weights)) {
        const [some, theirs] = [outs.slice(start, end), weights.slice(start, end)];
        if (some.length > 1 && multiplyBatch(queue, blas, some, some[0], x, theirs)) continue;
        some.forEach((out, i) => {
          kernels.matmul(out, x, theirs[i], { ...transposed, accumulate: true });
        });
      }
    },
  };
}

/** Runs of neighbours with equal shapes. */
function equalRuns(tensors: readonly Tensor[]): { readonly start: number; readonly end: number }[] {
  const starts = [...tensors.keys()].filter((i) => i === 0 || tensors[i].shape[0] !== tensors[i - 1].shape[0]);
  return starts.map((start, i) => ({ start, end: starts[i + 1] ?? tensors.length }));
}
