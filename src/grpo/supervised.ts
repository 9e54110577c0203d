/** Teacher-forced learning: the gradients of the mean negative log-likelihood of completions, in which every completion counts the same. */
import { type Detach, type Route, routeGroups } from '../adapters/index.ts';
import { type AdamW, affine, multiply, readFloats, Scope, sum, Tape } from '../engine/index.ts';
import { scoreGroups } from '../model/index.ts';
import { cutPasses, packPass, spread } from './batches.ts';
import type { Policy } from './policy.ts';
import type { PromptedCompletion } from './rollout.ts';

export interface SupervisedOptions {
  readonly route: Route;
  readonly tokensPerPass: number;
  readonly detach: Detach;
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
  { decoder, adapter, recompute = false }: Policy,
  optimiser: Pick<AdamW, 'learn'>,
  completions: readonly PromptedCompletion[],
  { route, tokensPerPass, detach, weight = 1 }: SupervisedOptions,
): Promise<number> {
  let total = 0;
  for (const pass of cutPasses(completions, () => route, tokensPerPass)) {
    using scope = new Scope(decoder.head.device);
    using tape = new Tape(scope.device, { learn: optimiser.learn, recompute });
    const { packed, members } = packPass(scope, decoder.config, completions, pass);
    const coefficients = routeGroups(
      scope,
      packed,
      pass.map(() => route),
      detach,
    );
    const logp = scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) });
    const weights = spread(
      packed.scored,
      members.map((index) => weight / (completions.length * completions[index].tokens.length)),
    );
    const weighted = multiply(tape, logp, scope.from(weights, [weights.length], 'token weights'));
    const nll = affine(tape, sum(tape, weighted), -1);
    tape.backward(nll);
    total += (await readFloats(nll))[0];
  }
  return total / weight;
}
