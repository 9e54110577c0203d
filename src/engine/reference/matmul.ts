/** out[m, n] = Σ_k op(a)[m, k] · op(b)[k, n], one float64 sum per element. */
import type { Kernels } from '../kernels.ts';
import type { Slab } from './memory.ts';

export function matmulKernel(slab: Slab): Pick<Kernels, 'matmul'> {
  return {
    matmul(out, a, b, { transposeA, transposeB, accumulate }) {
      const left = slab.floats(a);
      const right = slab.floats(b);
      const target = slab.floats(out);
      const [rows, columns] = out.shape.slice(-2);
      const depth = transposeA ? a.shape.slice(-2)[0] : a.shape.slice(-2)[1];
      const [leftRow, leftDepth] = transposeA ? [1, rows] : [depth, 1];
      const [rightDepth, rightColumn] = transposeB ? [1, depth] : [columns, 1];
      const batches = out.shape.length === 3 ? out.shape[0] : 1;
      for (let batch = 0; batch < batches; batch++) {
        for (let m = 0; m < rows; m++) {
          for (let n = 0; n < columns; n++) {
            const at = (batch * rows + m) * columns + n;
            const leftBase = batch * rows * depth + m * leftRow;
            const rightBase = batch * depth * columns + n * rightColumn;
            let sum = 0;
            for (let k = 0; k < depth; k++) sum += left[leftBase + k * leftDepth] * right[rightBase + k * rightDepth];
            target[at] = accumulate ? target[at] + Math.fround(sum) : sum;
          }
        }
      }
    },
  };
}
