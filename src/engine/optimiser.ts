/**
 * AdamW over a set of parameters: clip by the global norm, Adam update, then decoupled decay toward given values (zero when
 * none are given). The norm never leaves the device, so a step waits for nothing.
 */
import { ShapeError } from '../base/index.ts';
import type { AdamWOptions } from './kernels.ts';
import { Scope } from './scope.ts';
import { describeTensor, type Tensor } from './tensor.ts';

export interface Parameter {
  readonly name: string;
  readonly value: Tensor;
  readonly gradient: Tensor;
  /** What decay pulls toward; null for zero. */
  readonly target: Tensor | null;
}

interface Moments {
  readonly m: Tensor;
  readonly v: Tensor;
}

export type StepOptions = Omit<AdamWOptions, 'step'>;

export class AdamW extends Scope {
  readonly parameters: readonly Parameter[];
  /** Moments by parameter name, for checkpoints. */
  readonly moments: ReadonlyMap<string, Moments>;
  /** Squared global norm of the last step's gradients, before clipping. */
  readonly squaredNorm: Tensor;

  constructor(parameters: readonly Parameter[]) {
    const [first] = parameters;
    if (first === undefined) throw new ShapeError({ call: 'AdamW', expected: 'at least one parameter', found: 'none' });
    super(first.value.device);
    if (new Set(parameters.map(({ name }) => name)).size !== parameters.length) {
      throw new ShapeError({ call: 'AdamW', expected: 'distinct parameter names', found: 'a repeated one' });
    }
    for (const parameter of parameters) expectFits(this, parameter);
    this.parameters = parameters;
    this.moments = new Map(
      parameters.map(({ name, value }) => [
        name,
        { m: this.zeros(value.shape, `${name} first moment`), v: this.zeros(value.shape, `${name} second moment`) },
      ]),
    );
    this.squaredNorm = this.zeros([1], 'squared gradient norm');
  }

  /** The map that a tape needs: parameter → gradient. */
  get learn(): ReadonlyMap<Tensor, Tensor> {
    return new Map(this.parameters.map(({ value, gradient }) => [value, gradient]));
  }

  zeroGradients(): void {
    for (const { gradient } of this.parameters) this.device.kernels.fill(gradient, 0);
  }

  /** `step` counts from 1. */
  update(step: number, options: StepOptions): void {
    const { kernels } = this.device;
    sumSquaresOf(
      this.squaredNorm,
      this.parameters.map(({ gradient }) => gradient),
    );
    const all = this.parameters.flatMap(({ name, value: parameter, gradient, target }) => {
      const moments = this.moments.get(name);
      return moments === undefined ? [] : [{ parameter, gradient, ...moments, target }];
    });
    if (kernels.adamwOf !== undefined) {
      kernels.adamwOf(all, this.squaredNorm, { ...options, step });
      return;
    }
    for (const { parameter, gradient, m, v, target } of all) {
      kernels.adamw(parameter, gradient, m, v, target, this.squaredNorm, { ...options, step });
    }
  }
}

/** out [1] = Σ x² over all tensors, of which there is at least one. */
export function sumSquaresOf(out: Tensor, xs: readonly Tensor[]): void {
  const { kernels } = out.device;
  if (kernels.sumSquaresOf !== undefined) {
    kernels.sumSquaresOf(out, xs);
    return;
  }
  xs.forEach((x, i) => {
    kernels.sumSquares(out, x, i > 0);
  });
}

function expectFits({ device }: Scope, { name, value, gradient, target }: Parameter): void {
  for (const tensor of target === null ? [value, gradient] : [value, gradient, target]) {
    tensor.assertAlive('AdamW');
    if (describeTensor(tensor) === `f32[${value.shape.join(',')}]` && tensor.device === device) continue;
    throw new ShapeError({
      call: 'AdamW',
      expected: `value, gradient and target of ${name} in one shape, f32, on one ${device.name} device`,
      found: `${tensor.label} ${describeTensor(tensor)}${tensor.device === device ? '' : ' on another device'}`,
    });
  }
}
