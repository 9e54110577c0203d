/**
 * A linear layer with a split adapter: y = W x + [B A − B0 A0] x, its two blocks weighted per token.
 *
 * The adapter is stored as down [4R, C] = (A; A0) and up [4R, O] = (Bᵀ; B0ᵀ): rows [0, R) are the first block, [R, 2R)
 * the second, the rest their frozen initial values in the same order, which count negative. So h = down x and
 * y = upᵀ (± c ∘ h) + W x. The two halves of the change are summed apart, before W x is added: while A = A0 and B = B0
 * the change is exactly zero. An adapter that is zero by itself has no initial part: down and up are [2R, ·] then.
 * Per token and block there are three coefficients c: `forward` (how much of the branch is in y), `through` (how much
 * gradient passes through the branch to x) and `learn` (how much of it trains the block).
 */
import { ShapeError } from '../../base/index.ts';
import type { Gradients } from '../gradients.ts';
import { Scope } from '../scope.ts';
import type { SharedRows, Tape } from '../tape.ts';
import type { DType, Shape, Tensor } from '../tensor.ts';
import { expectFloats, expectShape, expectTensor } from './checks.ts';
import { add } from './elementwise.ts';
import { laneLinears } from './lane-adapter.ts';
import type { LinearWeights } from './matmul.ts';

export interface SplitAdapter {
  readonly rank: number;
  /** The factors in the dtype of the activations. */
  readonly down: Tensor;
  readonly up: Tensor;
  /** What may learn: f32, the first 2R rows of down and up (or what those were rounded from). */
  readonly learnDown: Tensor;
  readonly learnUp: Tensor;
}

export interface BlockCoefficients {
  /** Coefficients [T, 2]: a column for the first block, one for the second. */
  readonly forward: Tensor;
  readonly through: Tensor;
  readonly learn: Tensor;
}

/** Looks at the bottleneck h without changing it, and may have a part in its gradient. */
export interface BottleneckProbe {
  /** Is shown h [T, 2R or 4R]. */
  readonly forward?: (h: Tensor) => void;
  /** Is shown the gradient at h [T, 2R or 4R] before anything is made of it, and may add to it: a term of the loss that depends on h. */
  readonly incoming?: (gradient: Tensor) => void;
  /** Is shown the gradient at the bottleneck that the blocks learn from, [T, 2R]. */
  readonly learning?: (gradient: Tensor) => void;
  /** A vector of ones per segment of tokens that multiplies A x of the first block: only its gradient is of interest. */
  readonly scale?: {
    /** The vectors [S, R], which the tape must learn. */
    readonly ones: Tensor;
    /** First token and end of each segment, i32 [S, 2]. */
    readonly ranges: Tensor;
  };
}

export function splitAdapter(rank: number, down: Tensor, up: Tensor): SplitAdapter {
  return { rank, down, up, learnDown: down.rows(0, 2 * rank), learnUp: up.rows(0, 2 * rank) };
}

/** A linear layer with its adapter and what looks at it. */
export interface AdaptedLayer extends LinearWeights {
  readonly adapter: SplitAdapter;
  readonly probe?: BottleneckProbe;
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
  return adaptedLinears(tape, x, [{ weight, bias, adapter, probe }], coefficients)[0];
}

/** Layers that share their input x [T, C]: y [T, O] of each. The first layer's is added to `onto` [T, O], where given. */
export function adaptedLinears(
  tape: Tape,
  x: Tensor,
  layers: readonly AdaptedLayer[],
  coefficients: BlockCoefficients,
  onto: Tensor | null = null,
): Tensor[] {
  const { kernels } = tape.device;
  expectLayers(tape, x, layers, coefficients, onto);
  const frozen = layers.every(({ weight, bias }) => bias === null && !tape.learns(weight));
  if (kernels.laneProducts !== undefined && frozen) {
    const weights = layers.map(({ weight }) => weight);
    return laneLinears(tape, x, weights, [{ start: 0, end: x.shape[0], adapters: layers }], coefficients, onto);
  }
  const canAdd = kernels.blockProduct !== undefined || kernels.adaptedProducts !== undefined;
  if (onto !== null && (!canAdd || layers.some(({ bias }) => bias !== null))) {
    const [first, ...rest] = adaptedLinears(tape, x, layers, coefficients);
    return [add(tape, onto, first), ...rest];
  }
  const { hs, outs } = applyAll(tape, x, layers, coefficients.forward, onto);
  layers.forEach(({ probe }, i) => {
    probe?.forward?.(hs[i]);
  });
  if (tape.isPlain) return outs;

  const inputs = layers.flatMap(({ weight, bias, adapter, probe }) =>
    [weight, adapter.learnDown, adapter.learnUp, bias, probe?.scale?.ones ?? null].filter((t) => t !== null),
  );
  const saved = layers.flatMap(({ weight, adapter }, i) => [hs[i], weight, adapter.down, adapter.up]);
  const all = [x, ...(onto === null ? [] : [onto]), ...inputs];
  const kept = tape.makerWithGradient(x) === undefined ? [x] : [];
  const equal = tape.shared?.gradients ?? null;
  tape.recordJointly(
    'adaptedLinear',
    all,
    outs,
    [...kept, ...saved, ...Object.values(coefficients)],
    (dys, gradients) => {
      if (onto !== null) gradients.pass(onto, outs[0]);
      undo(tape, x, layers, hs, coefficients, dys, gradients, equal);
    },
  );
  return outs;
}

function expectLayers(
  tape: Tape,
  x: Tensor,
  layers: readonly AdaptedLayer[],
  { forward, through, learn }: BlockCoefficients,
  onto: Tensor | null,
): void {
  const [tokens] = x.shape;
  for (const { weight, bias, adapter } of layers) {
    const { rank, down, up, learnDown, learnUp } = adapter;
    expectFloats(tape, 'adaptedLinear', x, weight, down, up, ...(bias === null ? [] : [bias]));
    expectTensor(tape, 'adaptedLinear', 'f32', forward, through, learn, learnDown, learnUp);
    const [first] = layers;
    if (rank !== first.adapter.rank) {
      const [expected, found] = [`rank ${first.adapter.rank} in all layers`, `rank ${rank}`];
      throw new ShapeError({ call: 'adaptedLinear', expected, found });
    }
    const width = first.adapter.down.shape[0] === 2 * rank ? 2 * rank : 4 * rank;
    expectShape('adaptedLinear down', down, [width, -1]);
    expectShape('adaptedLinear up', up, [width, -1]);
    expectShape('adaptedLinear x', x, [-1, down.shape[1]]);
    expectShape('adaptedLinear weight', weight, [up.shape[1], down.shape[1]]);
    if (bias !== null) expectShape('adaptedLinear bias', bias, [up.shape[1]]);
  }
  for (const coefficient of [forward, through, learn])
    expectShape('adaptedLinear coefficients', coefficient, [tokens, 2]);
  if (onto === null) return;
  expectFloats(tape, 'adaptedLinear onto', x, onto);
  expectShape('adaptedLinear onto', onto, [tokens, layers[0].weight.shape[0]]);
}

/** h and y of each layer: together where the device can; one with a blockProduct of its own keeps to that where something is recorded. */
function applyAll(
  tape: Tape,
  x: Tensor,
  layers: readonly AdaptedLayer[],
  forward: Tensor,
  onto: Tensor | null,
): { readonly hs: readonly Tensor[]; readonly outs: Tensor[] } {
  const { kernels } = tape.device;
  const [tokens] = x.shape;
  const downs = layers.map(({ adapter }) => adapter.down);
  const shapes = downs.map(({ shape }) => [tokens, shape[0]]);
  const hs =
    kernels.products === undefined
      ? shapes.map((shape) => tape.empty(shape, 'bottleneck', x.dtype))
      : tape.stack(shapes, 'bottleneck', x.dtype);
  const together = !tape.recording || kernels.blockProduct === undefined;
  if (kernels.adaptedProducts !== undefined && together && layers.every(({ bias }) => bias === null)) {
    const [weights, ups] = [layers.map(({ weight }) => weight), layers.map(({ adapter }) => adapter.up)];
    const widths = weights.map(({ shape }) => [tokens, shape[0]]);
    const outs =
      layers.length === 1
        ? [tape.empty(widths[0], 'adaptedLinear', x.dtype)]
        : tape.stack(widths, 'adaptedLinear', x.dtype);
    const products = kernels.adaptedProducts;
    tape.rowwise([...outs, ...hs], [x, forward, ...(onto === null ? [] : [onto])], (made, [input, by, base = null]) => {
      const [ys, bottlenecks] = [made.slice(0, outs.length), made.slice(outs.length)];
      products(ys, bottlenecks, base, input, weights, downs, ups, by, layers[0].adapter.rank);
    });
    return { hs, outs };
  }
  if (kernels.products !== undefined) kernels.products(hs, x, downs);
  else {
    downs.forEach((down, i) => {
      kernels.matmul(hs[i], x, down, { ...plain, transposeB: true });
    });
  }
  return { hs, outs: layers.map((layer, i) => apply(tape, x, layer, hs[i], forward, i === 0 ? onto : null)) };
}

/** y = W x + upᵀ (± c ∘ h), the change first. */
function apply(
  tape: Tape,
  x: Tensor,
  { weight, bias, adapter }: AdaptedLayer,
  h: Tensor,
  forward: Tensor,
  onto: Tensor | null,
): Tensor {
  const { kernels } = tape.device;
  const { rank, up } = adapter;
  const out = tape.empty([x.shape[0], up.shape[1]], 'adaptedLinear', x.dtype);
  if (kernels.blockProduct !== undefined) kernels.blockProduct(out, onto, [h], [up], forward, rank);
  else {
    using scope = new Scope(tape.device);
    const scaled = scope.empty([x.shape[0], 2 * rank], 'scaled bottleneck', x.dtype);
    kernels.scaleBlocks(scaled, h, forward, rank, 0);
    kernels.matmul(out, scaled, up.rows(0, 2 * rank), plain);
    if (up.shape[0] > 2 * rank) {
      kernels.scaleBlocks(scaled, h, forward, rank, 2 * rank);
      kernels.matmul(out, scaled, up.rows(2 * rank, up.shape[0]), { ...plain, accumulate: true });
    }
  }
  kernels.matmul(out, x, weight, { transposeA: false, transposeB: true, accumulate: true });
  if (bias !== null) kernels.binary('add', out, out, bias);
  return out;
}

/** The gradients of everything that learns, the last layer's first. */
function undo(
  tape: Tape,
  x: Tensor,
  layers: readonly AdaptedLayer[],
  hs: readonly Tensor[],
  coefficients: BlockCoefficients,
  dys: readonly Tensor[],
  gradients: Gradients,
  equal: NonNullable<SharedRows['gradients']> | null,
): void {
  const { kernels } = tape.device;
  using scope = new Scope(tape.device);
  const dhs = hs.map((h) => scope.empty(h.shape, 'bottleneck gradient', x.dtype));
  const lastFirst = [...layers.keys()].reverse();
  const makeInput = tape.makerWithGradient(x);
  const seesGradients = layers.some(({ probe }) => probe?.incoming !== undefined);
  const few = equal === null || seesGradients || makeInput !== undefined ? null : equal;
  const pick = (tensor: Tensor): Tensor => (few === null ? tensor : pickRows(scope, tensor, few.first));
  const fewDys = dys.map(pick);
  const fewDhs = few === null ? dhs : dhs.map(({ shape }) => emptyRows(scope, few.first.size, shape, x.dtype));
  for (const i of lastFirst) {
    kernels.matmul(fewDhs[i], fewDys[i], layers[i].adapter.up, { ...plain, transposeB: true });
    layers[i].probe?.incoming?.(dhs[i]);
    if (few !== null) kernels.gatherRows(dhs[i], fewDhs[i], few.of);
  }
  let input = x;
  if (makeInput === undefined) {
    gradients.into(x, (dx, accumulate) => {
      if (few === null || accumulate) {
        passToInput(tape, dx, accumulate, layers, coefficients.through, dys, dhs);
        return;
      }
      const fewDx = emptyRows(scope, few.first.size, x.shape, x.dtype);
      passToInput(tape, fewDx, false, layers, pick(coefficients.through), fewDys, fewDhs);
      kernels.gatherRows(dx, fewDx, few.of);
    });
  } else {
    const dx = scope.empty(x.shape, 'input gradient', x.dtype);
    passToInput(tape, dx, false, layers, coefficients.through, dys, dhs);
    input = scope.empty(x.shape, 'input again', x.dtype);
    makeInput(input, dx, gradients);
  }
  for (const i of lastFirst) learnLayer(tape, input, layers[i], hs[i], coefficients, dys[i], dhs[i], gradients);
}

const emptyRows = (scope: Scope, rows: number, [, ...rest]: Shape, dtype: DType): Tensor =>
  scope.empty([rows, ...rest], 'distinct rows', dtype);

function pickRows(scope: Scope, tensor: Tensor, rows: Tensor): Tensor {
  const picked = emptyRows(scope, rows.size, tensor.shape, tensor.dtype);
  scope.device.kernels.gatherRows(picked, tensor, rows);
  return picked;
}

/** dx (+)= what comes through the weights and through the branches. */
function passToInput(
  tape: Tape,
  dx: Tensor,
  accumulate: boolean,
  layers: readonly AdaptedLayer[],
  through: Tensor,
  dys: readonly Tensor[],
  dhs: readonly Tensor[],
): void {
  const { kernels } = tape.device;
  const { rank } = layers[0].adapter;
  if (kernels.blockProduct !== undefined) {
    const downs = layers.map(({ adapter }) => adapter.down);
    kernels.blockProduct(dx, accumulate ? dx : null, dhs, downs, through, rank);
    layers.forEach(({ weight }, i) => {
      kernels.matmul(dx, dys[i], weight, { ...plain, accumulate: true });
    });
    return;
  }
  using scope = new Scope(tape.device);
  for (let i = layers.length - 1; i >= 0; i--) {
    const { weight, adapter } = layers[i];
    const weighted = scope.empty(dhs[i].shape, 'weighted bottleneck gradient', dx.dtype);
    kernels.matmul(dx, dys[i], weight, { ...plain, accumulate: accumulate || i < layers.length - 1 });
    kernels.scaleBlocks(weighted, dhs[i], through, rank, 0);
    kernels.matmul(dx, weighted, adapter.down, { ...plain, accumulate: true });
  }
}

/** Gradients of a layer's own parameters, and of the scale of a probe. */
function learnLayer(
  tape: Tape,
  x: Tensor,
  { weight, bias, adapter, probe }: AdaptedLayer,
  h: Tensor,
  { forward, learn }: BlockCoefficients,
  dy: Tensor,
  dh: Tensor,
  gradients: Gradients,
): void {
  const { kernels } = tape.device;
  const { rank, learnDown, learnUp } = adapter;
  using scope = new Scope(tape.device);
  const learning = scope.empty([x.shape[0], 2 * rank], 'learning part', x.dtype);
  gradients.into(learnUp, (dUp, accumulate) => {
    kernels.scaleBlocks(learning, h, learn, rank, 0);
    kernels.matmul(dUp, learning, dy, { transposeA: true, transposeB: false, accumulate });
  });
  gradients.into(learnDown, (dDown, accumulate) => {
    kernels.scaleBlocks(learning, dh, learn, rank, 0);
    kernels.matmul(dDown, learning, x, { transposeA: true, transposeB: false, accumulate });
    probe?.learning?.(learning);
  });
  gradients.into(weight, (dw, accumulate) =>
    kernels.matmul(dw, dy, x, { transposeA: true, transposeB: false, accumulate }),
  );
  if (bias !== null) gradients.into(bias, (db, accumulate) => kernels.sumFirst(db, dy, accumulate));
  if (probe?.scale === undefined) return;
  const { ones, ranges } = probe.scale;
  gradients.overwrite([ones], ([dOnes]) => {
    const weighted = scope.empty(h.shape, 'weighted bottleneck gradient', x.dtype);
    kernels.scaleBlocks(weighted, dh, forward, rank, 0);
    kernels.binary('multiply', weighted, weighted, h);
    kernels.segmentSum(dOnes, weighted, ranges);
  });
}
