/**
 * The token loss of GRPO (docs/science.md, section 6):
 *
 *   ρ = exp(log π − log π_old)
 *   Δ = log π_ref − log π,  k3 = e^Δ − Δ − 1
 *   loss = Σ_tokens weight · ( −min(ρ A, clip(ρ, 1 ± ε) A) + β k3 )
 *
 * Dr.GRPO (Liu et al. 2025) weighs every token by 1 / (group · maxNewTokens · promptsPerStep).
 */
import { add, affine, clamp, exp, minimum, multiply, subtract, sum, type Tape, type Tensor } from '../engine/index.ts';

export interface LossInputs {
  /** All tensors are [N], with one entry per completion token. */
  readonly logp: Tensor;
  readonly logpOld: Tensor;
  readonly logpBase: Tensor;
  readonly advantage: Tensor;
  readonly weight: Tensor;
}

export interface LossOptions {
  readonly clip: number;
  readonly klWeight: number;
}

export interface LossParts {
  readonly loss: Tensor;
  readonly ratio: Tensor;
  readonly k3: Tensor;
}

export function tokenLoss(tape: Tape, inputs: LossInputs, { clip, klWeight }: LossOptions): LossParts {
  const { logp, logpBase, weight } = inputs;
  const { ratio, surrogate } = clippedSurrogate(tape, inputs, [1 - clip, 1 + clip]);
  const k3 = klEstimate(tape, logp, logpBase);
  const perToken = subtract(tape, affine(tape, k3, klWeight), surrogate);
  return { loss: sum(tape, multiply(tape, perToken, weight)), ratio, k3 };
}

/** ρ, and min(ρ A, clip(ρ, range) A); without a range ρ A. */
export function clippedSurrogate(
  tape: Tape,
  { logp, logpOld, advantage }: Pick<LossInputs, 'logp' | 'logpOld' | 'advantage'>,
  range: readonly [least: number, most: number] | null,
): { readonly ratio: Tensor; readonly surrogate: Tensor } {
  const ratio = exp(tape, subtract(tape, logp, logpOld));
  const whole = multiply(tape, ratio, advantage);
  if (range === null) return { ratio, surrogate: whole };
  const clipped = multiply(tape, clamp(tape, ratio, ...range), advantage);
  return { ratio, surrogate: minimum(tape, whole, clipped) };
}

/** e^Δ − Δ − 1 with Δ = log π_ref − log π: an unbiased, never negative estimate of KL(π ‖ π_ref). */
export function klEstimate(tape: Tape, logp: Tensor, logpBase: Tensor): Tensor {
  const delta = subtract(tape, logpBase, logp);
  return add(tape, exp(tape, delta), affine(tape, delta, -1, -1));
}
