/**
 * A term of the loss that is a function of pooled activations, one value per completion: while the forward pass runs the activations are
 * pooled as features are (src/adapters/features.ts), and while the backward pass runs the gradient of the term is added at the
 * bottleneck of every module. With z the mean of A[:R] x over a completion's L tokens, ∂term/∂(A[:R] x of a token) = ∂term/∂z / L.
 */
import { ShapeError } from '../base/index.ts';
import { type BottleneckProbe, Scope, type Shape, type Tensor } from '../engine/index.ts';
import type { Span } from '../model/index.ts';
import type { Adapter } from './adapter.ts';
import { ActivationPooling, type Features } from './features.ts';

export class ActivationTerm {
  readonly #scope: Scope;
  readonly #adapter: Adapter;
  readonly #spans: readonly Span[];
  readonly #pooling: ActivationPooling;
  /** Which tokens belong to which completion, each completion's column adding up to 1: [T, S]. */
  readonly #shares: Float32Array;
  /** The gradient of the term at the features [S, modules, R]; null before it is known. */
  #slopes: Float32Array | null = null;

  constructor(scope: Scope, adapter: Adapter, spans: readonly Span[], tokens: number) {
    this.#scope = scope;
    this.#adapter = adapter;
    this.#spans = spans;
    this.#pooling = new ActivationPooling(scope, adapter, spans);
    this.#shares = new Float32Array(tokens * spans.length);
    spans.forEach(({ start, end }, row) => {
      for (let at = start; at < end; at++) this.#shares[at * spans.length + row] = 1 / (end - start);
    });
  }

  /** The probe of a module; `also`: what else looks at it. */
  probe(module: string, also: BottleneckProbe): BottleneckProbe {
    const pooling = this.#pooling.probe(module);
    return {
      ...also,
      forward: (h) => {
        // A pass that is computed again for its gradient is not pooled again.
        if (this.#slopes === null) pooling.forward?.(h);
        also.forward?.(h);
      },
      incoming: (gradient) => {
        this.#add(module, gradient);
        also.incoming?.(gradient);
      },
    };
  }

  /** The features of the forward pass that has run. */
  features(): Promise<Features> {
    return this.#pooling.read();
  }

  /** Sets the gradient of the term at the features, before the backward pass. */
  setSlopes(slopes: Float32Array): void {
    const expected = this.#spans.length * this.#adapter.modules.length * this.#adapter.rank;
    if (slopes.length !== expected) {
      throw new ShapeError({ call: 'activation term', expected: `${expected} slopes`, found: `${slopes.length}` });
    }
    this.#slopes = slopes;
  }

  #add(module: string, gradient: Tensor): void {
    if (this.#slopes === null)
      throw new RangeError('the slopes of an activation term are set before its backward pass');
    const { modules, rank } = this.#adapter;
    const [tokens, width] = gradient.shape;
    const at = modules.findIndex(({ name }) => name === module);
    const rows = this.#spans.length;
    const own = new Float32Array(rows * width);
    for (let row = 0; row < rows; row++) {
      const start = (row * modules.length + at) * rank;
      own.set(this.#slopes.subarray(start, start + rank), row * width);
    }
    using scope = new Scope(this.#scope.device);
    const like = (data: Float32Array, shape: Shape, label: string): Tensor => {
      const exact = scope.from(data, shape, label);
      if (gradient.dtype === 'f32') return exact;
      const rounded = scope.empty(shape, label, gradient.dtype);
      scope.device.kernels.copy(rounded, exact);
      return rounded;
    };
    const shares = like(this.#shares, [tokens, rows], 'token shares');
    const slopes = like(own, [rows, width], 'slopes of a term');
    scope.device.kernels.matmul(gradient, shares, slopes, { transposeA: false, transposeB: false, accumulate: true });
  }
}
