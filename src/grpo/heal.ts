/**
 * Retain-heal: after training, a few steps of teacher-forced negative log-likelihood on clean completions under the keep
 * route. The quarantine must learn nothing: an expectation fails unless its gradient is exactly zero.
 */
import { routeGroups } from '../adapters/index.ts';
import { type AdamW, affine, multiply, readFloats, Scope, type StepOptions, sum, Tape } from '../engine/index.ts';
import { scoreGroups } from '../model/index.ts';
import { cutPasses, packPass, spread } from './batches.ts';
import type { Expectation } from './events.ts';
import type { Policy } from './policy.ts';
import type { PromptedCompletion } from './rollout.ts';
import type { GrpoSettings } from './settings.ts';
import { readBlockNorms } from './update.ts';

export interface HealResult {
  /** Mean NLL of the clean completions before each step. */
  readonly losses: readonly number[];
  readonly expectations: readonly Expectation[];
}

export async function retainHeal(
  policy: Policy,
  optimiser: AdamW,
  clean: readonly PromptedCompletion[],
  steps: number,
  firstStep: number,
  options: StepOptions,
  settings: GrpoSettings,
): Promise<HealResult> {
  const losses: number[] = [];
  const expectations: Expectation[] = [];
  for (let i = 0; i < steps; i++) {
    optimiser.zeroGradients();
    losses.push(await accumulateNll(policy, optimiser, clean, settings));
    const { quarantine } = await readBlockNorms(policy);
    const detail = `|g_q| = ${quarantine} at heal step ${i + 1}`;
    const name = 'the quarantine learns nothing while healing';
    expectations.push({ kind: 'expectation', name, holds: quarantine === 0, detail });
    optimiser.update(firstStep + i, options);
  }
  return { losses, expectations };
}

async function accumulateNll(
  { decoder, adapter, recompute = false }: Policy,
  optimiser: AdamW,
  clean: readonly PromptedCompletion[],
  { compute: { tokensPerPass }, loss: { detach } }: GrpoSettings,
): Promise<number> {
  let total = 0;
  for (const pass of cutPasses(clean, () => 'keep', tokensPerPass)) {
    using scope = new Scope(decoder.head.device);
    using tape = new Tape(scope.device, { learn: optimiser.learn, recompute });
    const { packed, members } = packPass(scope, decoder.config, clean, pass);
    const coefficients = routeGroups(
      scope,
      packed,
      pass.map(() => 'keep'),
      detach,
    );
    const logp = scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) });
    const weights = spread(
      packed.scored,
      members.map((index) => 1 / (clean.length * clean[index].tokens.length)),
    );
    const weighted = multiply(tape, logp, scope.from(weights, [weights.length], 'token weights'));
    const nll = affine(tape, sum(tape, weighted), -1);
    tape.backward(nll);
    total += (await readFloats(nll))[0];
  }
  return total;
}
