/**
 * A linear layer with a split adapter: y = W x + [B A − B0 A0] x, its two blocks (deployed, quarantine) routed per token.
 *
 * The adapter is stored as down [4R, C] = (A; A0) and up [4R, O] = (Bᵀ; B0ᵀ): rows [0, R) are the deployed block, [R, 2R)
 * the quarantine block, the rest their frozen initial values in the same order, which count negative. So h = down x and
 * y = upᵀ (± c ∘ h) + W x. The two halves of the change are summed apart, before W x is added: while A = A0 and B = B0
 * the change is exactly zero. An adapter that is zero by itself has no initial part: down and up are [2R, ·] then.
 * Per token and block there are three coefficients c: `forward` (how much of the branch is in y), `through` (how much
 * gradient passes through the branch to x) and `learn` (how much of it trains the block).
 */
import { Scope } from '../scope.ts';
import type { Tape } from '../tape.ts';
import type { Tensor } from '../tensor.ts';
import { expectFloats, expectShape, expectTensor } from './checks.ts';

export interface SplitAdapter {
  readonly rank: number;
  /** In the dtype of the activations. */
  readonly down: Tensor;
  readonly up: Tensor;
  /** What may learn: f32, the first 2R rows of down and up (or what those were rounded from). */
  readonly learnDown: Tensor;
  readonly learnUp: Tensor;
}

export interface BlockCoefficients {
  /** Each [T, 2]: deployed, quarantine. */
  readonly forward: Tensor;
  readonly through: Tensor;
  readonly learn: Tensor;
}

/** Looks at the bottleneck h without changing it. */
export interface BottleneckProbe {
  /** Is shown h [T, 2R or 4R]. */
  readonly forward?: (h: Tensor) => void;
  /** Is shown the gradient at the bottleneck that the blocks learn from, [T, 2R]. */
  readonly learning?: (gradient: Tensor) => void;
  /** A vector of ones per segment of tokens that multiplies A x of the deployed block: only its gradient is of interest. */
  readonly scale?: {
    /** [S, R], what the tape must learn. */
    readonly ones: Tensor;
    /** i32 [S, 2]: first token and end of each segment. */
    readonly ranges: Tensor;
  };
}

export function splitAdapter(rank: number, down: Tensor, up: Tensor): SplitAdapter {
  return { rank, down, up, learnDown: down.rows(0, 2 * rank), learnUp: up.rows(0, 2 * rank) };
}

const plain = { transposeA: false, transposeB: false, accumulate: false };

/** x [T, C], weight [O, C], bias [O] or null → y [T, O]. */
export function adaptedLinear(
  tape: Tape,
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  adapter: SplitAdapter,
  coefficients: BlockCoefficients,
  probe: BottleneckProbe = {},
): Tensor {
  const { rank, down, up, learnDown, learnUp } = adapter;
  const { forward, through, learn } = coefficients;
  expectFloats(tape, 'adaptedLinear', x, weight, down, up, ...(bias === null ? [] : [bias]));
  expectTensor(tape, 'adaptedLinear', 'f32', forward, through, learn, learnDown, learnUp);
  const width = down.shape[0] === 2 * rank ? 2 * rank : 4 * rank;
  expectShape('adaptedLinear down', down, [width, -1]);
  expectShape('adaptedLinear up', up, [width, -1]);
  expectShape('adaptedLinear x', x, [-1, down.shape[1]]);
  expectShape('adaptedLinear weight', weight, [up.shape[1], down.shape[1]]);
  const [tokens] = x.shape;
  if (bias !== null) expectShape('adaptedLinear bias', bias, [up.shape[1]]);
  for (const coefficient of [forward, through, learn]) expectShape('adaptedLinear routes', coefficient, [tokens, 2]);
  const { kernels } = tape.device;

  const out = tape.empty([tokens, up.shape[1]], 'adaptedLinear', x.dtype);
  const h = tape.empty([tokens, width], 'bottleneck', x.dtype);
  kernels.matmul(h, x, down, { ...plain, transposeB: true });
  if (kernels.blockProduct !== undefined) {
    kernels.matmul(out, x, weight, { ...plain, transposeB: true });
    kernels.blockProduct(out, h, up, forward, rank);
  } else {
    using scope = new Scope(tape.device);
    const scaled = scope.empty([tokens, 2 * rank], 'scaled bottleneck', x.dtype);
    kernels.scaleBlocks(scaled, h, forward, rank, 0);
    kernels.matmul(out, scaled, up.rows(0, 2 * rank), plain);
    if (width > 2 * rank) {
      kernels.scaleBlocks(scaled, h, forward, rank, 2 * rank);
      kernels.matmul(out, scaled, up.rows(2 * rank, width), { ...plain, accumulate: true });
    }
    kernels.matmul(out, x, weight, { transposeA: false, transposeB: true, accumulate: true });
  }
  if (bias !== null) kernels.binary('add', out, out, bias);
  probe.forward?.(h);

  const optional = [bias, probe.scale?.ones ?? null].filter((tensor) => tensor !== null);
  const inputs = [x, weight, learnDown, learnUp, ...optional];
  const saved = [x, h, weight, down, up, forward, through, learn];
  tape.record('adaptedLinear', inputs, out, saved, (dy, gradients) => {
    using scope = new Scope(tape.device);
    const dh = scope.empty(h.shape, 'bottleneck gradient', x.dtype);
    const routed = scope.empty(h.shape, 'routed bottleneck gradient', x.dtype);
    const learning = scope.empty([tokens, 2 * rank], 'learning part', x.dtype);
    kernels.matmul(dh, dy, up, { ...plain, transposeB: true });
    gradients.into(learnUp, (dUp, accumulate) => {
      kernels.scaleBlocks(learning, h, learn, rank, 0);
      kernels.matmul(dUp, learning, dy, { transposeA: true, transposeB: false, accumulate });
    });
    gradients.into(learnDown, (dDown, accumulate) => {
      kernels.scaleBlocks(learning, dh, learn, rank, 0);
      kernels.matmul(dDown, learning, x, { transposeA: true, transposeB: false, accumulate });
      probe.learning?.(learning);
    });
    gradients.into(x, (dx, accumulate) => {
      kernels.matmul(dx, dy, weight, { ...plain, accumulate });
      if (kernels.blockProduct !== undefined) kernels.blockProduct(dx, dh, down, through, rank);
      else {
        kernels.scaleBlocks(routed, dh, through, rank, 0);
        kernels.matmul(dx, routed, down, { ...plain, accumulate: true });
      }
    });
    gradients.into(weight, (dw, accumulate) =>
      kernels.matmul(dw, dy, x, { transposeA: true, transposeB: false, accumulate }),
    );
    if (bias !== null) gradients.into(bias, (db, accumulate) => kernels.sumFirst(db, dy, accumulate));
    if (probe.scale === undefined) return;
    const { ones, ranges } = probe.scale;
    gradients.overwrite([ones], ([dOnes]) => {
      kernels.scaleBlocks(routed, dh, forward, rank, 0);
      kernels.binary('multiply', routed, routed, h);
      kernels.segmentSum(dOnes, routed, ranges);
    });
  });
  return out;
}
