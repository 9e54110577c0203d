/**
 * How hard a rollout pulls on each block: √Σ over modules and completion tokens of the squared gradient that the block
 * learns from at the bottleneck. Collected while the backward pass runs.
 */
import { type BottleneckProbe, readFloats, Scope, type Tensor } from '../engine/index.ts';
import type { Span } from '../model/index.ts';

export interface BlockNorms {
  readonly deployed: number;
  readonly quarantine: number;
}

export class GradientEnergy {
  readonly #scope: Scope;
  readonly #rank: number;
  readonly #ranges: Tensor;
  /** Sums of squared gradients [S, 2R]. */
  readonly #sums: Tensor;

  constructor(scope: Scope, rank: number, spans: readonly Span[]) {
    this.#scope = scope;
    this.#rank = rank;
    const flat = Int32Array.from(spans.flatMap(({ start, end }) => [start, end]));
    this.#ranges = scope.from(flat, [spans.length, 2], 'token ranges');
    this.#sums = scope.zeros([spans.length, 2 * rank], 'gradient energy');
  }

  readonly probe: BottleneckProbe = {
    learning: (gradient) => {
      const { kernels } = this.#scope.device;
      if (kernels.segmentSquares !== undefined) {
        kernels.segmentSquares(this.#sums, gradient, this.#ranges);
        return;
      }
      using scope = new Scope(this.#scope.device);
      const squares = scope.empty(gradient.shape, 'squared gradient');
      const sums = scope.empty(this.#sums.shape, 'gradient energy of a module');
      if (gradient.dtype === 'f32') kernels.unary('square', squares, gradient);
      else {
        kernels.copy(squares, gradient);
        kernels.unary('square', squares, squares);
      }
      kernels.segmentSum(sums, squares, this.#ranges);
      kernels.add(this.#sums, sums);
    },
  };

  async read(): Promise<BlockNorms[]> {
    const sums = await readFloats(this.#sums);
    const [count] = this.#sums.shape;
    const norm = (start: number): number =>
      Math.sqrt(sums.subarray(start, start + this.#rank).reduce((total, value) => total + value, 0));
    return Array.from({ length: count }, (_, row) => ({
      deployed: norm(2 * row * this.#rank),
      quarantine: norm((2 * row + 1) * this.#rank),
    }));
  }
}
