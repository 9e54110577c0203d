/**
 * The vocabulary of a device: what it can compute. Outputs come first and are overwritten unless `accumulate` is true.
 * T tokens, H query heads, K key/value heads, D head size, C channels, V vocabulary, R rank of one adapter block,
 * N rows. All tensors are contiguous. Activations and weights are of one of the device's `floats`, the same in one call;
 * statistics (inverseRms, logSumExp), log-probabilities, logits, tables, coefficients, optimiser state and the gradients of
 * parameters are f32; matmul may mix them. An output may be the same tensor as an input only where it says "in place".
 */
import type { Segments } from './segments.ts';
import type { Tensor } from './tensor.ts';

/** exp, log, sqrt, reciprocal, tanh, square: the obvious functions. */
export type UnaryKind = 'exp' | 'log' | 'sqrt' | 'reciprocal' | 'tanh' | 'square';
/** lessEqual gives 1 where a ≤ b, else 0. */
export type BinaryKind = 'add' | 'subtract' | 'multiply' | 'divide' | 'minimum' | 'maximum' | 'lessEqual';

export interface MatmulOptions {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly accumulate: boolean;
}

export interface AdamWOptions {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** Decoupled decay, after the update: parameter −= learningRate · decay · (parameter − target). */
  readonly decay: number;
  /** Number of the update, 1 for the first. */
  readonly step: number;
  /** Gradients are scaled by min(1, maxNorm / (√squaredNorm + 1e-6)); Infinity for no clip. */
  readonly maxNorm: number;
  /** The moment that stays as it is; default: neither. */
  readonly hold?: 'first' | 'second';
}

/** What an AdamW step keeps of each moment, and by what their bias is divided away. */
export function momentsOf({ beta1, beta2, step, hold }: AdamWOptions) {
  const [keep1, keep2] = [hold === 'first' ? 1 : beta1, hold === 'second' ? 1 : beta2];
  return { keep1, keep2, bias1: 1 - beta1 ** step, bias2: 1 - beta2 ** step };
}

/** A row draws uniform number `count` of its own stream: word count of Philox(key) at counter (·, row, step, word). */
export interface SampleOptions {
  readonly key: readonly [number, number];
  readonly step: number;
  /** Sampling temperature; 0 takes the most likely token. */
  readonly temperature: number;
  /** Keep the k most likely tokens; 0 keeps all. */
  readonly topK: number;
  /** Keep the fewest most likely tokens whose probabilities reach this; 1 keeps all. */
  readonly topP: number;
  /** Keep tokens with at least this share of the most likely one's probability; 0 keeps all. */
  readonly minP: number;
  /** On a device that computes lanes together: key and step of each row, i32 [B, 3], in place of the two above. */
  readonly streams?: Tensor;
}

/** Adapters of layers that share an input, coefficients as in blockProduct. */
export interface JointAdapters {
  readonly downs: readonly Tensor[];
  readonly ups: readonly Tensor[];
  readonly coefficients: Tensor;
  readonly rank: number;
}

/** A parameter and what AdamW keeps of it. */
export interface Stepped {
  readonly parameter: Tensor;
  readonly gradient: Tensor;
  readonly m: Tensor;
  readonly v: Tensor;
  readonly target: Tensor | null;
}

/** One of several products that are computed together. */
export interface LaneProduct {
  readonly out: Tensor;
  readonly a: Tensor;
  readonly b: Tensor;
}

export interface Kernels {
  fill(out: Tensor, value: number): void;
  /** out = input, with as many elements. Any two of f32, bf16, f16 are converted, to nearest even; i32 goes to i32 only. */
  copy(out: Tensor, input: Tensor): void;
  /** out = scale · x + shift. In place. */
  affine(out: Tensor, x: Tensor, scale: number, shift: number): void;
  /** out += x. */
  add(out: Tensor, x: Tensor): void;
  /** out = kind(x). In place. */
  unary(kind: UnaryKind, out: Tensor, x: Tensor): void;
  /** b repeats along the leading axes of a: element i meets b[i mod b.size]. In place on a. */
  binary(kind: BinaryKind, out: Tensor, a: Tensor, b: Tensor): void;
  /** out = min(max(x, low), high). In place. */
  clamp(out: Tensor, x: Tensor, low: number, high: number): void;
  /** out = 1 where low ≤ x ≤ high, else 0. In place. */
  inside(out: Tensor, x: Tensor, low: number, high: number): void;
  /** out [N] = Σ over the last axis of x [N, C]. */
  sumLast(out: Tensor, x: Tensor): void;
  /** out [C] (+)= Σ over the first axis of x [N, C]. */
  sumFirst(out: Tensor, x: Tensor, accumulate: boolean): void;
  /** out [S, n] = Σ of x [T, C] over the tokens [start, end) of ranges i32 [S, 2], its first n columns. */
  segmentSum(out: Tensor, x: Tensor, ranges: Tensor): void;
  /** out [1] (+)= Σ x². */
  sumSquares(out: Tensor, x: Tensor, accumulate: boolean): void;
  /** Optional: out [1] = Σ x² over all tensors, as one. */
  sumSquaresOf?(out: Tensor, xs: readonly Tensor[]): void;
  /** Optional: out [S, n] += Σ of x² over the tokens of ranges, as segmentSum has them. */
  segmentSquares?(out: Tensor, x: Tensor, ranges: Tensor): void;
  /** out i32 [1] = how many elements of x are NaN or infinite. */
  countNonFinite(out: Tensor, x: Tensor): void;

  /**
   * out [M, N] (+)= op(a) · op(b); with a leading batch axis on all three, one product per batch entry. A row of the result
   * does not depend on how many rows there are. Accumulating adds the product, summed on its own (for K ≤ 256 in one
   * piece): p − p is exactly 0.
   */
  matmul(out: Tensor, a: Tensor, b: Tensor, options: MatmulOptions): void;

  /** Optional: out = addend + op(a) · op(b) in one pass, all of one float. The addend may be the output. */
  matmulOnto?(out: Tensor, addend: Tensor, a: Tensor, b: Tensor, options: Omit<MatmulOptions, 'accumulate'>): void;
  /** Optional: outs[i] [M, Nᵢ] = x [M, K] · weights[i] [Nᵢ, K]ᵀ: products that share an input, together. All of one float. */
  products?(outs: readonly Tensor[], x: Tensor, weights: readonly Tensor[]): void;

  /**
   * Optional, on a device that computes lanes together: out (+)= op(a) · op(b) of each, as one. Their shapes are equal but for the rows of a,
   * and of out or, with transposeA, of b. Each has the bytes that it would have alone.
   */
  laneProducts?(products: readonly LaneProduct[], options: MatmulOptions): void;

  /** out [N, N] = x⁻¹ by elimination with row pivots. N is small (an adapter's rank); a singular x gives infinities or NaN. */
  invert(out: Tensor, x: Tensor): void;

  /** out [N, C] = table [V, C] at index i32 [N]. */
  gatherRows(out: Tensor, table: Tensor, index: Tensor): void;
  /** out [V, C] at index i32 [N] = x [N, C]; rows not named stay. Indices are distinct. */
  scatterRows(out: Tensor, x: Tensor, index: Tensor): void;
  /** Optional: scatterRows of two tensors of equal shape and dtype, with the same index, as one. */
  scatterPair?(outs: readonly [Tensor, Tensor], xs: readonly [Tensor, Tensor], index: Tensor): void;
  /** out [V, C] += x [N, C] at index i32 [N]; repeated indices add up, in order of n. The output may be f32 where x is not. */
  scatterAddRows(out: Tensor, x: Tensor, index: Tensor): void;

  /** out = x · inverseRms · weight over the last axis; inverseRms [N] = 1 / √(mean x² + epsilon). x [N, C]. */
  rmsNorm(out: Tensor, inverseRms: Tensor, x: Tensor, weight: Tensor, epsilon: number): void;
  /** dx (+)= …; dWeight += … unless null. */
  rmsNormBackward(
    dx: Tensor,
    dWeight: Tensor | null,
    dy: Tensor,
    x: Tensor,
    weight: Tensor,
    inverseRms: Tensor,
    accumulate: boolean,
  ): void;

  /**
   * x [T, H, D]; table [P, D] holds cos (first D/2) and sin (last D/2) of a position; positions i32 [T].
   * (a, b) → (a·cos − b·sin, b·cos + a·sin) for a = x[.., i], b = x[.., i + D/2]; `inverse` turns the other way. In place.
   */
  rotary(out: Tensor, x: Tensor, positions: Tensor, table: Tensor, inverse: boolean): void;

  /** Optional: rmsNorm over the last axis of x [T, H, D], then rotary, in one pass. inverseRms [T · H]. */
  normRotary?(
    out: Tensor,
    inverseRms: Tensor,
    x: Tensor,
    weight: Tensor,
    epsilon: number,
    positions: Tensor,
    table: Tensor,
  ): void;

  /** Optional, with normRotary: dx = its gradient, the weight frozen. dx, dy, x [T, H, D]. */
  normRotaryBackward?(
    dx: Tensor,
    dy: Tensor,
    x: Tensor,
    weight: Tensor,
    inverseRms: Tensor,
    positions: Tensor,
    table: Tensor,
  ): void;

  /**
   * Softmax attention with grouped heads: query head h reads key head ⌊h·K/H⌋. out, q [Tq, H, D]; k, v [Tk, K, D];
   * logSumExp [Tq, H] of the scaled scores. No Tq×Tk matrix is kept.
   */
  attention(out: Tensor, logSumExp: Tensor, q: Tensor, k: Tensor, v: Tensor, segments: Segments, scale: number): void;
  /** dq, dk, dv are overwritten (keys that nobody sees get 0). */
  attentionBackward(
    dq: Tensor,
    dk: Tensor,
    dv: Tensor,
    dOut: Tensor,
    out: Tensor,
    logSumExp: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    segments: Segments,
    scale: number,
  ): void;

  /** out = gate · sigmoid(gate) · up. In place on gate. */
  swiglu(out: Tensor, gate: Tensor, up: Tensor): void;
  /** dGate and dUp overwritten; each may be in place on gate / up. */
  swigluBackward(dGate: Tensor, dUp: Tensor, dy: Tensor, gate: Tensor, up: Tensor): void;
  /** Optional: swiglu once more and its gradient, in one pass. Nothing in place. */
  swigluAgain?(out: Tensor, dGate: Tensor, dUp: Tensor, dy: Tensor, gate: Tensor, up: Tensor): void;

  /** logp [N] = logits[n, target] − logSumExp[n]; logits [N, V], targets i32 [N]. */
  logSoftmaxGather(logp: Tensor, logSumExp: Tensor, logits: Tensor, targets: Tensor): void;
  /** logits becomes dLogits = dLogp · (1[v = target] − exp(logits − logSumExp)), in place. */
  logSoftmaxGatherBackward(logits: Tensor, logSumExp: Tensor, targets: Tensor, dLogp: Tensor): void;

  /** Optional, with scaleRows: logp as above, and slope [N, V] = 1[v = target] − exp(logits − logSumExp) in an activation's float. */
  logSoftmaxSlope?(slope: Tensor, logp: Tensor, logits: Tensor, targets: Tensor): void;
  /** out [N, C] = x [N, C] · scales [N]: a number per row. In place. */
  scaleRows?(out: Tensor, x: Tensor, scales: Tensor): void;

  /**
   * Per-token scaling of adapter blocks: out [T, n] = ± h [T, 2R or 4R] (n columns from `column` on) times coefficients [T, 2].
   * Column j of h takes the coefficient of block ⌊j / R⌋ mod 2, and a minus from 2R on (the
   * frozen initial part is subtracted). `column` is 0 or 2R, n is 2R or 4R.
   */
  scaleBlocks(out: Tensor, h: Tensor, coefficients: Tensor, rank: number, column: number): void;

  /**
   * Optional: devices without it get the same from scaleBlocks and matmul. out [T, N] = addend + Σ over i of (coefficient ∘ ± hs[i])
   * [T, 2R or 4R] · weights[i] [2R or 4R, N], coefficients and signs as in scaleBlocks; a null addend is zero, it may be the output.
   * The added and the subtracted half are summed apart: equal halves change nothing.
   */
  blockProduct?(
    out: Tensor,
    addend: Tensor | null,
    hs: readonly Tensor[],
    weights: readonly Tensor[],
    coefficients: Tensor,
    rank: number,
  ): void;

  /**
   * Optional, with products: layers that share their input x [T, K]; where something is recorded, only on a device without blockProduct.
   * hs[i] = x · downs[i]ᵀ and
   * outs[i] [T, Nᵢ] = x · weights[i] [Nᵢ, K]ᵀ + the change of hs[i] through ups[i], as blockProduct makes it. The first is added to `onto`
   * [T, N₀], unless that is null.
   */
  adaptedProducts?(
    outs: readonly Tensor[],
    hs: readonly Tensor[],
    onto: Tensor | null,
    x: Tensor,
    weights: readonly Tensor[],
    downs: readonly Tensor[],
    ups: readonly Tensor[],
    coefficients: Tensor,
    rank: number,
  ): void;

  /**
   * Optional, the next five together: steps of a few rows, as in decoding. Outputs of layers that share an input are columns of one matrix
   * `base`, and what their adapters change stands beside it in a matrix `change` (null for nothing), until the kernel that reads them adds
   * the two, rounded. This one says whether the device can do so for this many rows and these layers, with heads of this size.
   */
  jointFits?(rows: number, headSize: number, weights: readonly Tensor[], adapters: JointAdapters | null): boolean;
  /** base [T, ΣN] = onto (or nothing) + x · weights[i]ᵀ side by side. With adapters hs[i] = x · downs[i]ᵀ, and change [T, ΣN] is theirs. */
  jointProducts?(
    base: Tensor,
    change: Tensor | null,
    onto: Tensor | null,
    x: Tensor,
    weights: readonly Tensor[],
    hs: readonly Tensor[],
    adapters: JointAdapters | null,
  ): void;
  /** base [T, C] becomes base + change; out = its RMSNorm. */
  jointNorm?(out: Tensor, base: Tensor, change: Tensor | null, weight: Tensor, epsilon: number): void;
  /** out [T, N] = swiglu of the first half of the columns of base + change [T, 2N] and the second. */
  jointSwiglu?(out: Tensor, base: Tensor, change: Tensor | null): void;
  /**
   * Queries, keys and values are the columns of base + change [T, (H + 2K) · D]. out [T, H, D] = normRotary of the queries; the two stores
   * [S, K, D] get normRotary of the keys, and the values, at slots i32 [T]. weights: of the norms of queries and of keys.
   */
  jointTurn?(
    out: Tensor,
    stores: readonly [Tensor, Tensor],
    base: Tensor,
    change: Tensor | null,
    weights: readonly [Tensor, Tensor],
    epsilon: number,
    positions: Tensor,
    table: Tensor,
    slots: Tensor,
  ): void;

  /** counters i32 [N, C] += by i32 [C], in place. */
  advance(counters: Tensor, by: Tensor): void;
  /**
   * Draws one token per row from logits [B, V]. Row b is row slots[b] of the history: its token goes to ids[b] and to
   * tokens[slots[b], counts[b]], its log-probability under the truncated and under the full distribution to
   * logps[slots[b], counts[b], 0 and 1]. ids, slots, rows, counts i32 [B]; tokens i32 [S, L]; logps [S, L, 2].
   */
  sample(
    ids: Tensor,
    tokens: Tensor,
    logps: Tensor,
    logits: Tensor,
    slots: Tensor,
    rows: Tensor,
    counts: Tensor,
    options: SampleOptions,
  ): void;

  /** One AdamW update in place of parameter, m and v. squaredNorm [1]; target null means decay toward 0. */
  adamw(
    parameter: Tensor,
    gradient: Tensor,
    m: Tensor,
    v: Tensor,
    target: Tensor | null,
    squaredNorm: Tensor,
    options: AdamWOptions,
  ): void;
  /** Optional: the same update of all parameters, as one. */
  adamwOf?(all: readonly Stepped[], squaredNorm: Tensor, options: AdamWOptions): void;
}
