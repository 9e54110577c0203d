/**
 * Softmax attention over segments: p = softmax(scale · q kᵀ) over the visible keys, out = p v.
 * Backward: dP = dOut vᵀ, dS = p ∘ (dP − Σ dOut ∘ out), dq = scale · dS k, dk = scale · dSᵀ q, dv = pᵀ dOut.
 */
import type { Kernels, Segments, Tensor } from '../index.ts';
import type { Slab } from './memory.ts';

/** Calls `body` with each query token and the keys it sees. */
function eachQuery(segments: Segments, body: (query: number, keys: readonly number[]) => void): void {
  for (const { queryStart, queryEnd, prefixStart, prefixEnd, keyStart, keyEnd } of segments.list) {
    for (let query = queryStart; query < queryEnd; query++) {
      const keys: number[] = [];
      for (let key = prefixStart; key < prefixEnd; key++) keys.push(key);
      for (let key = keyStart; key < keyEnd - (queryEnd - 1 - query); key++) keys.push(key);
      body(query, keys);
    }
  }
}

function heads(q: Tensor, k: Tensor): { H: number; K: number; D: number; keyHead: (head: number) => number } {
  const [, H, D] = q.shape;
  const K = k.shape[1];
  return { H, K, D, keyHead: (head) => Math.floor((head * K) / H) };
}

function dot(a: Float32Array, i: number, b: Float32Array, j: number, length: number): number {
  let sum = 0;
  for (let d = 0; d < length; d++) sum += a[i + d] * b[j + d];
  return sum;
}

export function referenceAttentionKernels(slab: Slab): Pick<Kernels, 'attention' | 'attentionBackward'> {
  return {
    attention(out, logSumExp, q, k, v, segments, scale) {
      const { H, K, D, keyHead } = heads(q, k);
      const [queries, keysOf, values] = [slab.floats(q), slab.floats(k), slab.floats(v)];
      const [result, normaliser] = [slab.floats(out), slab.floats(logSumExp)];
      eachQuery(segments, (query, keys) => {
        for (let h = 0; h < H; h++) {
          const at = (query * H + h) * D;
          const keyAt = (key: number): number => (key * K + keyHead(h)) * D;
          const scores = keys.map((key) => scale * dot(queries, at, keysOf, keyAt(key), D));
          const top = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
          const weights = scores.map((score) => Math.exp(score - top));
          const total = weights.reduce((sum, weight) => sum + weight, 0);
          normaliser[query * H + h] = top + Math.log(total);
          for (let d = 0; d < D; d++) {
            let sum = 0;
            for (let i = 0; i < keys.length; i++) sum += weights[i] * values[keyAt(keys[i]) + d];
            result[at + d] = sum / total;
          }
        }
      });
    },

    attentionBackward(dq, dk, dv, dOut, out, logSumExp, q, k, v, segments, scale) {
      const { H, K, D, keyHead } = heads(q, k);
      const [queries, keysOf, values] = [slab.floats(q), slab.floats(k), slab.floats(v)];
      const [upstream, result, normaliser] = [slab.floats(dOut), slab.floats(out), slab.floats(logSumExp)];
      const [sumQ, sumK, sumV] = [q, k, v].map(({ size }) => new Float64Array(size));
      eachQuery(segments, (query, keys) => {
        for (let h = 0; h < H; h++) {
          const at = (query * H + h) * D;
          const mean = dot(upstream, at, result, at, D);
          for (const key of keys) {
            const other = (key * K + keyHead(h)) * D;
            const p = Math.exp(scale * dot(queries, at, keysOf, other, D) - normaliser[query * H + h]);
            const dScore = scale * p * (dot(upstream, at, values, other, D) - mean);
            for (let d = 0; d < D; d++) {
              sumQ[at + d] += dScore * keysOf[other + d];
              sumK[other + d] += dScore * queries[at + d];
              sumV[other + d] += p * upstream[at + d];
            }
          }
        }
      });
      slab.floats(dq).set(sumQ);
      slab.floats(dk).set(sumK);
      slab.floats(dv).set(sumV);
    },
  };
}
