/**
 * Linear layers with split adapters where nothing is recorded. While a few rows are decoded, time goes into the chain of launches: the
 * bottlenecks are computed beside the base products, on the second stream, and the changes are added to the base products, in one launch for
 * all layers of an input. Elsewhere the changes come first, and the base products are added to them.
 */
import type { Device, Kernels } from '../index.ts';
import { bytesOf, Scope, type Tensor } from '../index.ts';
import type { Aside } from './aside.ts';
import type { Blas } from './blas.ts';
import { type Addends, changeFits, changeTogether, hopper, mostLayers } from './change.ts';
import { fewRows, joinProducts, multiplyBatch, transposed } from './products.ts';
import type { Queue } from './queue.ts';

export function adaptedKernels(
  queue: Queue,
  blas: Blas,
  aside: Aside,
  home: () => Device,
): Pick<Kernels, 'adaptedProducts'> {
  return {
    adaptedProducts(outs, hs, onto, x, weights, downs, ups, coefficients, rank) {
      const { kernels } = home();
      if (changesLast(queue, outs, hs, onto, ups, rank)) {
        using scope = new Scope(home());
        // One product of the library takes nothing from the arena. Factors that lie apart are no such product, and follow.
        let found = false;
        const bases = aside.run(
          (beside) => {
            found = multiplyBatch(queue, beside, hs, null, x, downs);
          },
          () => multiplyBases(queue, blas, scope, outs, onto, x, weights),
        );
        if (!found) kernels.products?.(hs, x, downs);
        changeTogether(queue, outs, bases, hs, ups, coefficients, rank);
        return;
      }
      kernels.products?.(hs, x, downs);
      outs.forEach((out, i) => {
        kernels.blockProduct?.(out, i === 0 ? onto : null, [hs[i]], [ups[i]], coefficients, rank);
      });
      multiplyRuns(queue, blas, home(), outs, x, weights, true);
    },
  };
}

/** Whether the changes can be added last, together: for a few rows in bf16 on Hopper. */
function changesLast(
  queue: Queue,
  outs: readonly Tensor[],
  hs: readonly Tensor[],
  onto: Tensor | null,
  ups: readonly Tensor[],
  rank: number,
): boolean {
  const [rows] = hs[0].shape;
  const few = rows > 0 && rows <= fewRows && outs.length <= (onto === null ? mostLayers : 1);
  if (queue.gpu.facts.capability !== hopper || !few) return false;
  return changeFits(outs, hs, rank) && queue.aligned(...outs, ...hs, ...ups);
}

/** The products with the base weights, in `outs` or side by side in one matrix of `scope`. */
function multiplyBases(
  queue: Queue,
  blas: Blas,
  scope: Scope,
  outs: readonly Tensor[],
  onto: Tensor | null,
  x: Tensor,
  weights: readonly Tensor[],
): Addends {
  const { device } = scope;
  if (onto !== null) device.kernels.matmulOnto?.(outs[0], onto, x, weights[0], transposed);
  else {
    const joined = equalRuns(weights).length === 1 ? null : joinProducts(queue, blas, scope, outs, x, weights);
    if (joined !== null) return columnsOf(queue, joined, outs);
    multiplyRuns(queue, blas, device, outs, x, weights, false);
  }
  return { at: outs, pitch: 0 };
}

/** Where the columns of each output lie in the matrix of all. */
function columnsOf(queue: Queue, joined: Tensor, outs: readonly Tensor[]): Addends {
  let at = queue.address(joined);
  const starts = outs.map(({ shape }) => {
    const start = at;
    at += shape[1] * bytesOf[joined.dtype];
    return start;
  });
  return { at: starts, pitch: joined.shape[1] };
}

/** outs[i] (+)= x · weights[i]ᵀ, neighbours of equal shape together where there are a few rows. */
function multiplyRuns(
  queue: Queue,
  blas: Blas,
  { kernels }: Device,
  outs: readonly Tensor[],
  x: Tensor,
  weights: readonly Tensor[],
  accumulate: boolean,
): void {
  for (const { start, end } of equalRuns(weights)) {
    const [some, theirs] = [outs.slice(start, end), weights.slice(start, end)];
    if (some.length > 1 && multiplyBatch(queue, blas, some, accumulate ? some[0] : null, x, theirs)) continue;
    some.forEach((out, i) => {
      kernels.matmul(out, x, theirs[i], { ...transposed, accumulate });
    });
  }
}

/** Runs of neighbours with equal shapes. */
function equalRuns(tensors: readonly Tensor[]): { readonly start: number; readonly end: number }[] {
  const starts = [...tensors.keys()].filter((i) => i === 0 || tensors[i].shape[0] !== tensors[i - 1].shape[0]);
  return starts.map((start, i) => ({ start, end: starts[i + 1] ?? tensors.length }));
}
