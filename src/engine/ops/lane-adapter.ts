/**
 * Linear layers with split adapters (split-adapter.ts) whose rows belong to several lanes, each with factors of its own: the base product is
 * one for all rows, and the products with the factors of all lanes are one launch. What a lane gets depends on its own rows and factors only.
 */
import { ShapeError } from '../../base/index.ts';
import type { Gradients } from '../gradients.ts';
import type { Kernels, LaneProduct, MatmulOptions } from '../kernels.ts';
import { Scope } from '../scope.ts';
import type { Tape } from '../tape.ts';
import type { Tensor } from '../tensor.ts';
import { expectFloats, expectShape } from './checks.ts';
import type { BlockCoefficients, BottleneckProbe, SplitAdapter } from './split-adapter.ts';

/** An adapter of one layer, and what looks at it. */
export interface ProbedAdapter {
  readonly adapter: SplitAdapter;
  readonly probe?: BottleneckProbe;
}

/** Rows [start, end) of the batch, and the adapter of each layer. Rows up to the next lane are nobody's: their coefficients are 0. */
export interface AdapterLane {
  readonly start: number;
  readonly end: number;
  readonly adapters: readonly ProbedAdapter[];
}

const plain = { transposeA: false, transposeB: false, accumulate: false };
const transposedB = { ...plain, transposeB: true };
const transposedA = { ...plain, transposeA: true };

/** x [T, C] through frozen weights [O, C] that share it: y [T, O] of each. The first is added to `onto` [T, O], where given. */
export function laneLinears(
  tape: Tape,
  x: Tensor,
  weights: readonly Tensor[],
  lanes: readonly AdapterLane[],
  coefficients: BlockCoefficients,
  onto: Tensor | null,
): Tensor[] {
  const op = new LaneLinears(tape, x, weights, lanes, coefficients);
  const outs = weights.map((_, layer) => op.apply(layer, layer === 0 ? onto : null));
  if (tape.isPlain) return outs;
  const every = lanes.flatMap(({ adapters }) => adapters);
  const learned = every.flatMap(({ adapter, probe }) => [
    adapter.learnDown,
    adapter.learnUp,
    ...(probe?.scale === undefined ? [] : [probe.scale.ones]),
  ]);
  const kept = tape.makerWithGradient(x) === undefined ? [x] : [];
  const factors = every.flatMap(({ adapter }) => [adapter.down, adapter.up]);
  const saved = [...kept, ...op.hs, ...weights, ...factors, ...Object.values(coefficients)];
  const inputs = [x, ...(onto === null ? [] : [onto]), ...learned];
  tape.recordJointly('laneLinears', inputs, outs, saved, (dys, gradients) => {
    if (onto !== null) gradients.pass(onto, outs[0]);
    op.undo(dys, gradients);
  });
  return outs;
}

class LaneLinears {
  readonly hs: Tensor[] = [];
  readonly #tape: Tape;
  readonly #x: Tensor;
  readonly #weights: readonly Tensor[];
  readonly #lanes: readonly AdapterLane[];
  readonly #coefficients: BlockCoefficients;
  readonly #rank: number;
  /** 2R, or 4R with an initial part. */
  readonly #width: number;
  readonly #multiply: NonNullable<Kernels['laneProducts']>;

  constructor(
    tape: Tape,
    x: Tensor,
    weights: readonly Tensor[],
    lanes: readonly AdapterLane[],
    coefficients: BlockCoefficients,
  ) {
    this.#tape = tape;
    this.#x = x;
    this.#weights = weights;
    this.#lanes = lanes;
    this.#coefficients = coefficients;
    const [{ adapter }] = lanes[0].adapters;
    this.#rank = adapter.rank;
    this.#width = adapter.down.shape[0];
    this.#multiply = expectLaneProducts(tape.device.kernels);
    for (const lane of lanes) this.#expectLane(lane);
    for (const each of Object.values<Tensor>({ ...coefficients }))
      expectShape('laneLinears coefficients', each, [x.shape[0], 2]);
  }

  #expectLane({ adapters }: AdapterLane): void {
    const [, inputs] = this.#x.shape;
    adapters.forEach(({ adapter: { down, up } }, layer) => {
      expectFloats(this.#tape, 'laneLinears', this.#x, down, up, this.#weights[layer]);
      expectShape('laneLinears down', down, [this.#width, inputs]);
      expectShape('laneLinears up', up, [this.#width, -1]);
      expectShape('laneLinears weight', this.#weights[layer], [up.shape[1], inputs]);
    });
  }

  /** y = W x + upᵀ (± c ∘ h), the change first, its added and its subtracted half summed apart. */
  apply(layer: number, onto: Tensor | null): Tensor {
    const { device } = this.#tape;
    const { kernels } = device;
    const [x, [tokens]] = [this.#x, this.#x.shape];
    const h = this.#tape.empty([tokens, this.#width], 'bottleneck', x.dtype);
    this.hs.push(h);
    this.#byLane(h, x, (lane) => this.#adapter(lane, layer).down, transposedB);
    for (const { start, end, adapters } of this.#lanes) adapters[layer].probe?.forward?.(h.rows(start, end));
    const out = this.#tape.empty([tokens, this.#weights[layer].shape[0]], 'laneLinears', x.dtype);
    using scope = new Scope(device);
    const half = 2 * this.#rank;
    const scaled = scope.empty([tokens, half], 'scaled bottleneck', x.dtype);
    for (let first = 0; first < this.#width; first += half) {
      kernels.scaleBlocks(scaled, h, this.#coefficients.forward, this.#rank, first);
      const upOf = (lane: number): Tensor => this.#adapter(lane, layer).up.rows(first, first + half);
      this.#byLane(out, scaled, upOf, { ...plain, accumulate: first > 0 });
    }
    if (onto !== null) kernels.binary('add', out, out, onto);
    kernels.matmul(out, x, this.#weights[layer], { ...transposedB, accumulate: true });
    return out;
  }

  /** The gradients of everything that learns, the last layer's first. */
  undo(dys: readonly Tensor[], gradients: Gradients): void {
    const [tape, x] = [this.#tape, this.#x];
    using scope = new Scope(tape.device);
    const lastFirst = [...this.#weights.keys()].reverse();
    const dhs = this.hs.map((h) => scope.empty(h.shape, 'bottleneck gradient', x.dtype));
    for (const layer of lastFirst) {
      this.#byLane(dhs[layer], dys[layer], (lane) => this.#adapter(lane, layer).up, transposedB);
      for (const { start, end, adapters } of this.#lanes)
        adapters[layer].probe?.incoming?.(dhs[layer].rows(start, end));
    }
    const makeInput = tape.makerWithGradient(x);
    let input = x;
    if (makeInput === undefined) gradients.into(x, (dx, accumulate) => this.#passToInput(dx, accumulate, dys, dhs));
    else {
      const dx = scope.empty(x.shape, 'input gradient', x.dtype);
      this.#passToInput(dx, false, dys, dhs);
      input = scope.empty(x.shape, 'input again', x.dtype);
      makeInput(input, dx, gradients);
    }
    for (const layer of lastFirst) this.#learnLayer(layer, input, dys[layer], dhs[layer], gradients);
  }

  /** dx (+)= what comes through the weights and through the branches. */
  #passToInput(dx: Tensor, accumulate: boolean, dys: readonly Tensor[], dhs: readonly Tensor[]): void {
    const { device } = this.#tape;
    using scope = new Scope(device);
    const weighted = scope.empty([dx.shape[0], this.#width], 'weighted bottleneck gradient', dx.dtype);
    for (let layer = this.#weights.length - 1; layer >= 0; layer--) {
      const adds = accumulate || layer < this.#weights.length - 1;
      device.kernels.matmul(dx, dys[layer], this.#weights[layer], { ...plain, accumulate: adds });
      device.kernels.scaleBlocks(weighted, dhs[layer], this.#coefficients.through, this.#rank, 0);
      this.#byLane(dx, weighted, (lane) => this.#adapter(lane, layer).down, { ...plain, accumulate: true });
    }
  }

  #learnLayer(layer: number, x: Tensor, dy: Tensor, dh: Tensor, gradients: Gradients): void {
    const { device } = this.#tape;
    const { forward } = this.#coefficients;
    using scope = new Scope(device);
    const learning = scope.empty([x.shape[0], 2 * this.#rank], 'learning part', x.dtype);
    this.#learnFactor(layer, 'learnUp', learning, this.hs[layer], dy, gradients);
    this.#learnFactor(layer, 'learnDown', learning, dh, x, gradients);
    for (const { start, end, adapters } of this.#lanes) {
      const { probe, adapter } = adapters[layer];
      if (gradients.wants(adapter.learnDown)) probe?.learning?.(learning.rows(start, end));
      if (probe?.scale === undefined) continue;
      const { ones, ranges } = probe.scale;
      gradients.overwrite([ones], ([dOnes]) => {
        const weighted = scope.empty([end - start, this.#width], 'weighted bottleneck gradient', x.dtype);
        device.kernels.scaleBlocks(weighted, dh.rows(start, end), forward.rows(start, end), this.#rank, 0);
        device.kernels.binary('multiply', weighted, weighted, this.hs[layer].rows(start, end));
        device.kernels.segmentSum(dOnes, weighted, ranges);
      });
    }
  }

  /** Gradients of a factor of all lanes that learn it: what scales at the bottleneck, transposed, times the other side. */
  #learnFactor(
    layer: number,
    factor: 'learnUp' | 'learnDown',
    learning: Tensor,
    bottleneck: Tensor,
    side: Tensor,
    gradients: Gradients,
  ): void {
    const { kernels } = this.#tape.device;
    const wanted = this.#lanes.filter(({ adapters }) => gradients.wants(adapters[layer].adapter[factor]));
    if (wanted.length === 0) return;
    kernels.scaleBlocks(learning, bottleneck, this.#coefficients.learn, this.#rank, 0);
    const products: { readonly accumulate: boolean; readonly product: LaneProduct }[] = [];
    for (const { start, end, adapters } of wanted) {
      gradients.into(adapters[layer].adapter[factor], (out, accumulate) => {
        products.push({ accumulate, product: { out, a: learning.rows(start, end), b: side.rows(start, end) } });
      });
    }
    for (const accumulate of [true, false]) {
      const own = products.filter((each) => each.accumulate === accumulate).map(({ product }) => product);
      if (own.length > 0) this.#multiply(own, { ...transposedA, accumulate });
    }
  }

  /** out = op of rows with the factor of their lane, for all rows up to the next lane's. */
  #byLane(out: Tensor, rows: Tensor, factorOf: (lane: number) => Tensor, options: MatmulOptions): void {
    const products = this.#lanes.map(({ start }, lane) => {
      const end = this.#lanes[lane + 1]?.start ?? rows.shape[0];
      return { out: out.rows(start, end), a: rows.rows(start, end), b: factorOf(lane) };
    });
    this.#multiply(products, options);
  }

  #adapter(lane: number, layer: number): SplitAdapter {
    return this.#lanes[lane].adapters[layer].adapter;
  }
}

function expectLaneProducts({ laneProducts }: Kernels): NonNullable<Kernels['laneProducts']> {
  if (laneProducts !== undefined) return laneProducts;
  throw new ShapeError({ call: 'laneLinears', expected: 'a device that computes lanes together', found: 'another' });
}
