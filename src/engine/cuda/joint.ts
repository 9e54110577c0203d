/**
 * Steps of a few rows, as in decoding: time goes into the chain of launches. Layers that share an input are one product. Bottlenecks and
 * changes of adapters are computed beside it, on the second stream, and added by the kernel that reads both.
 */
import { DeviceError } from '../../base/index.ts';
import { describeTensor, type Kernels, type Tensor } from '../index.ts';
import type { Aside } from './aside.ts';
import type { Blas } from './blas.ts';
import { changeFits, changeTogether, hopper, mostLayers } from './change.ts';
import { multiplyLarge, ownDepth } from './matmul.ts';
import { adjacent, fewRows, multiplyBatch, transposed } from './products.ts';
import { definitionsOf, elementsPerAccess, float, type Queue } from './queue.ts';
import { turnLanes } from './reduce.ts';

type Names = 'jointFits' | 'jointProducts' | 'jointNorm' | 'jointSwiglu' | 'jointTurn';

const threads = 256;

export function jointKernels(queue: Queue, blas: Blas, aside: Aside): Pick<Kernels, Names> {
  return {
    jointFits(rows, headSize, weights, adapters) {
      if (queue.gpu.facts.capability !== hopper || rows === 0 || rows > fewRows) return false;
      const whole = weights.every(({ dtype, shape: [outputs, inputs] }) => {
        return dtype === 'bf16' && inputs > ownDepth && inputs % 8 === 0 && outputs % 8 === 0;
      });
      if (!whole || weights.length > mostLayers || !adjacent(weights)) return false;
      if (!turnLanes.includes(headSize / elementsPerAccess('bf16'))) return false;
      if (adapters === null) return true;
      const { downs, ups, rank } = adapters;
      return changeFits(ups, downs[0].shape[0], rank) && adjacent(downs) && queue.aligned(...downs, ...ups);
    },
    jointProducts(base, change, onto, x, weights, hs, adapters) {
      const [M, K] = x.shape;
      const sizes = { batch: 1, M, N: base.shape[1], K };
      const multiply = (): void => {
        if (!multiplyLarge(queue, blas, base, onto, x, weights[0], transposed, sizes)) refuse(base, x);
      };
      if (change === null || adapters === null) {
        multiply();
        return;
      }
      const { downs, ups, coefficients, rank } = adapters;
      aside.run((beside) => {
        if (!multiplyBatch(queue, beside, hs, null, x, downs)) refuse(hs[0], x);
        changeTogether(queue, change, hs, ups, coefficients, rank);
      }, multiply);
    },
    jointNorm(out, base, change, weight, epsilon) {
      const [rows, columns] = base.shape;
      const shape = { grid: [rows], block: threads, follows: true } as const;
      const parameters = [out, base, change, weight, columns, float(epsilon)];
      const held = Math.ceil(columns / elementsPerAccess(base.dtype) / threads);
      queue.launch('joint', 'jointNorm', [...definitionsOf(base.dtype), `HELD=${held}`], shape, parameters);
    },
    jointSwiglu(out, base, change) {
      const pieces = out.size / elementsPerAccess(out.dtype);
      const shape = { ...queue.over(pieces), follows: true };
      queue.launch('joint', 'jointSwiglu', definitionsOf(out.dtype), shape, [out, base, change, pieces, out.shape[1]]);
    },
    jointTurn(out, [keys, values], base, change, [queryWeight, keyWeight], epsilon, positions, table, slots) {
      const [tokens, heads, size] = out.shape;
      const keyHeads = keys.shape[1];
      const lanes = size / elementsPerAccess(out.dtype);
      const rows = tokens * (heads + 2 * keyHeads);
      const shape = { grid: [Math.ceil(rows / (threads / lanes))], block: threads, follows: true } as const;
      const inputs = [base, change, queryWeight, keyWeight, positions, table, slots];
      const parameters = [out, keys, values, ...inputs, rows, heads, keyHeads, float(epsilon)];
      queue.launch('joint', 'jointTurn', [...definitionsOf(out.dtype), `LANES=${lanes}`], shape, parameters);
    },
  };
}

function refuse(out: Tensor, x: Tensor): never {
  throw new DeviceError({
    call: `cuda jointProducts ${describeTensor(out)} from ${describeTensor(x)}`,
    expected: 'a product of cuBLASLt',
    found: 'none for this shape',
  });
}
