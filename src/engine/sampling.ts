/**
 * Drawing a token on the host: the definition of the `sample` kernel, used by every device whose memory the host sees.
 *
 * p = softmax(logits / temperature). In order of falling p (ties: the smaller id first) keep the first topK, then the fewest
 * whose sum reaches topP, then those with p ≥ minP · max p; the kept tokens, in order of id, share the unit interval by p.
 */
import { ShapeError } from '../base/errors.ts';
import { RandomStream } from '../base/rng.ts';
import type { SampleOptions } from './kernels.ts';

export interface Draw {
  readonly token: number;
  /** log-probability among the kept tokens at the temperature; 0 when greedy. */
  readonly truncated: number;
  /** log-probability under softmax(logits). */
  readonly full: number;
}

export function drawToken(logits: Float32Array, uniform: number, options: SampleOptions): Draw {
  const { temperature } = options;
  const best = mostLikely(logits);
  const normaliser = logSumExp(logits, logits[best], 1);
  if (temperature === 0) return { token: best, truncated: 0, full: logits[best] - normaliser };
  const scaled = Float64Array.from(logits, (value) => Math.exp((value - logits[best]) / temperature));
  const kept = truncate(scaled, options);
  let total = 0;
  for (const id of kept) total += scaled[id];
  let rest = uniform * total;
  let token = kept[kept.length - 1];
  for (const id of kept) {
    rest -= scaled[id];
    if (rest < 0) {
      token = id;
      break;
    }
  }
  return { token, truncated: Math.log(scaled[token] / total), full: logits[token] - normaliser };
}

/** The ids that stay, in order of id. `weights` are proportional to p, the largest being 1. */
function truncate(weights: Float64Array, { topK, topP, minP }: SampleOptions): number[] {
  const ids = Array.from(weights.keys());
  if ((topK === 0 || topK >= ids.length) && topP >= 1 && minP <= 0) return ids;
  ids.sort((a, b) => weights[b] - weights[a] || a - b);
  const kept = topK > 0 ? ids.slice(0, topK) : ids;
  if (topP < 1) {
    const enough = topP * kept.reduce((sum, id) => sum + weights[id], 0);
    let sum = 0;
    const count = kept.findIndex((id) => {
      sum += weights[id];
      return sum >= enough;
    });
    kept.length = count < 0 ? kept.length : count + 1;
  }
  return kept.filter((id) => weights[id] >= minP).sort((a, b) => a - b);
}

function mostLikely(logits: Float32Array): number {
  let best = 0;
  for (let id = 1; id < logits.length; id++) if (logits[id] > logits[best]) best = id;
  return best;
}

function logSumExp(logits: Float32Array, top: number, temperature: number): number {
  let sum = 0;
  for (const value of logits) sum += Math.exp((value - top) / temperature);
  return top + Math.log(sum);
}

export interface SampleArrays {
  readonly ids: Int32Array;
  readonly tokens: Int32Array;
  readonly logps: Float32Array;
  readonly logits: Float32Array;
  readonly slots: Int32Array;
  readonly rows: Int32Array;
  readonly counts: Int32Array;
}

export function sampleRows(arrays: SampleArrays, length: number, options: SampleOptions): void {
  const { ids, tokens, logps, logits, slots, rows, counts } = arrays;
  const vocabulary = ids.length === 0 ? 0 : logits.length / ids.length;
  for (let b = 0; b < ids.length; b++) {
    const row = logits.subarray(b * vocabulary, (b + 1) * vocabulary);
    const uniform = new RandomStream(options.key, options.step, rows[b]).uniformAt(counts[b]);
    const { token, truncated, full } = drawToken(row, uniform, options);
    if (!Number.isFinite(full)) {
      throw new ShapeError({ call: `sample row ${rows[b]}`, expected: 'finite logits', found: 'NaN or infinite ones' });
    }
    const at = slots[b] * length + counts[b];
    ids[b] = token;
    tokens[at] = token;
    logps[2 * at] = truncated;
    logps[2 * at + 1] = full;
  }
}
