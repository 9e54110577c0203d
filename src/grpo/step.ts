/**
 * One update of Dr.GRPO with routed gradients: the equations of docs/science.md, section 6, in their order. A line is a stage, and what
 * it does on the device and among ranks is in stages.ts.
 *
 *   x prompt   y_i one of G completions of it   θ adapter   π_full, π_deployed, π_ref: with both blocks, without the quarantine, without both
 */
import * as stages from './stages.ts';

export async function step(context: stages.StepContext, index: number): Promise<stages.StepOutcome> {
  // y_i ~ π_full(· | x), a share of the group ~ π_deployed(· | x)
  const sampled = await stages.sample(context, index);

  // r_i = R(x, y_i), a number and no label
  const graded = await stages.grade(context, sampled);

  // r_i ← what the arm makes of r_i and of its monitor's score of y_i; y_i trains, is silenced, left out, or set apart
  const watched = await stages.watch(context, graded);

  // A_i = r_i − mean of r over the group of i, or over those of it that are not set apart
  const weighed = stages.advantages(context, watched);

  // φ_i = features of y_i under π_deployed        log π_ref(t) = log π_ref(y_i,t | x, y_i,<t)
  const read = await stages.read(context, weighed);

  // z_i = gate(φ_i, A_i)                          keep: deployed block learns   absorb: both   route: quarantine
  const routed = await stages.route(context, read);

  // ρ = π_θ(t | z_i) / π_old(t)                   π_old(t) = π_θ(t) in the state that sampled y_i
  // Δ = log π_ref(t) − log π_θ(t)
  // ℓ = −min(ρ A_i, clip(ρ, 1 − ε, 1 + ε) A_i) + β (e^Δ − Δ − 1)
  // L = Σ over i and t of ℓ / (G · T_max · P)
  // L ← L + w · mean over an anchor batch of −log π_θ(y clean | x, keep) / |y|, where the run has anchors
  // θ ← AdamW(θ, ∂L/∂θ under z), with decay toward θ_0
  return stages.learn(context, routed);
}
