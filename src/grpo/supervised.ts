/**
 * Learning from completions that are given: the gradients of any loss of their log-probabilities, and of the mean negative log-likelihood, in which
 * every completion counts the same.
 */
import { type Detach, type Route, routeGroups } from '../adapters/index.ts';
import { type AdamW, affine, multiply, readFloats, Scope, sum, Tape, type Tensor } from '../engine/index.ts';
import { scoreGroups } from '../model/index.ts';
import { cutPasses, type PackedPass, packPass, spread } from './batches.ts';
import type { Policy } from './policy.ts';
import type { PromptedCompletion } from './rollout.ts';

export interface GivenOptions {
  readonly routeOf: (index: number) => Route;
  readonly tokensPerPass: number;
  readonly detach: Detach;
  /** The loss of a pass: one number from log π of its scored tokens. */
  readonly loss: (tape: Tape, logp: Tensor, pass: PackedPass & { readonly scope: Scope }) => Tensor;
}

export interface GivenScores {
  readonly loss: number;
  /** log π of every completion's tokens, in the forward of its route. */
  readonly logps: readonly Float32Array[];
}

/** Adds to the parameters' gradients; `optimiser` null: nothing learns. */
export async function accumulateLoss(
  { decoder, adapter, recompute = false }: Policy,
  optimiser: Pick<AdamW, 'learn'> | null,
  completions: readonly PromptedCompletion[],
  { routeOf, tokensPerPass, detach, loss: lossOf }: GivenOptions,
): Promise<GivenScores> {
  const logps: Float32Array[] = new Array(completions.length);
  let total = 0;
  for (const pass of cutPasses(completions, routeOf, tokensPerPass)) {
    using scope = new Scope(decoder.head.device);
    using tape = new Tape(scope.device, { learn: optimiser?.learn ?? new Map(), recompute });
    const { packed, members } = packPass(scope, decoder.config, completions, pass);
    const routes = pass.map(({ key }) => key);
    const coefficients = routeGroups(scope, packed, routes, detach);
    const logp = scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) });
    const loss = lossOf(tape, logp, { scope, packed, members });
    if (optimiser !== null) tape.backward(loss);
    const [[value], scores] = await Promise.all([readFloats(loss), readFloats(logp)]);
    members.forEach((index, i) => {
      const { start, end } = packed.scored[i];
      logps[index] = scores.slice(start, end);
    });
    total += value;
  }
  return { loss: total, logps };
}

/** −Σ weight · log π over the scored tokens of a pass. */
export function weightedNll(tape: Tape, logp: Tensor, weights: Float32Array): Tensor {
  const weighted = multiply(tape, logp, tape.from(weights, [weights.length], 'token weights'));
  return affine(tape, sum(tape, weighted), -1);
}

export interface SupervisedOptions extends Pick<GivenOptions, 'tokensPerPass' | 'detach'> {
  readonly route: Route;
  /** What the gradients are multiplied by; default: 1. */
  readonly weight?: number;
}

/** `size` of the completions, at most all, in turn from update to update; `step` counts updates from 0. */
export function inTurn<Completion>(completions: readonly Completion[], size: number, step: number): Completion[] {
  const many = Math.min(size, completions.length);
  return Array.from({ length: many }, (_, i) => completions[(step * many + i) % completions.length]);
}

/** Adds to the parameters' gradients, and returns the mean. */
export async function accumulateNll(
  policy: Policy,
  optimiser: Pick<AdamW, 'learn'>,
  completions: readonly PromptedCompletion[],
  { route, weight = 1, ...options }: SupervisedOptions,
): Promise<number> {
  const weightOf = (index: number): number => weight / (completions.length * completions[index].tokens.length);
  const loss: GivenOptions['loss'] = (tape, logp, { packed, members }) =>
    weightedNll(tape, logp, spread(packed.scored, members.map(weightOf)));
  const scored = await accumulateLoss(policy, optimiser, completions, { ...options, routeOf: () => route, loss });
  return scored.loss / weight;
}
