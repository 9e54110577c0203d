/** Causal grouped-query attention over packed segments, with its gradient recomputed from log Σ exp (Dao et al. 2022). */
import { ShapeError } from '../../base/index.ts';
import type { Segments } from '../segments.ts';
import type { Tape } from '../tape.ts';
import { describeTensor, type Tensor } from '../tensor.ts';
import { expectFloats, expectSameShape, expectShape, expectTensor } from './checks.ts';

/** q [Tq, H, D]; k, v [Tk, K, D]; H a multiple of K. Scores are scaled by 1/√D. */
export function attention(tape: Tape, q: Tensor, k: Tensor, v: Tensor, segments: Segments): Tensor {
  expectFloats(tape, 'attention', q, k, v);
  expectTensor(tape, 'attention', 'i32', segments.tensor);
  expectShape('attention q', q, [segments.queries, -1, -1]);
  const [, heads, headSize] = q.shape;
  expectShape('attention k', k, [segments.keys, -1, headSize]);
  expectSameShape('attention v', k, v);
  if (k.shape[1] === 0 || heads % k.shape[1] !== 0) {
    throw new ShapeError({
      call: 'attention',
      expected: `a divisor of ${heads} key heads`,
      found: `k ${describeTensor(k)}`,
    });
  }
  const { kernels } = tape.device;
  const scale = 1 / Math.sqrt(headSize);
  const out = tape.empty(q.shape, 'attention', q.dtype);
  const logSumExp = tape.empty([segments.queries, heads], 'attention log-sum-exp');
  const asked = tape.shared?.segments ?? segments;
  tape.rowwise([out, logSumExp], [q], ([y, sums], [queries]) =>
    kernels.attention(y, sums, queries, k, v, asked, scale),
  );
  tape.record('attention', [q, k, v], out, [q, k, v, out, logSumExp], (dy, gradients) =>
    gradients.overwrite([q, k, v], ([dq, dk, dv]) =>
      kernels.attentionBackward(dq, dk, dv, dy, out, logSumExp, q, k, v, segments, scale),
    ),
  );
  return out;
}
