/**
 * Retain-heal: after training, a few steps of teacher-forced negative log-likelihood on clean completions under the keep
 * route. The quarantine must learn nothing: its gradient must be exactly zero, and a value of it that changes stops the run. So
 * healing has moments of its own, which begin at zero (those of training would move both blocks), and no decay.
 */
import { UserError } from '../base/index.ts';
import { AdamW, type StepOptions } from '../engine/index.ts';
import type { Expectation } from './events.ts';
import { hashValues, type Policy } from './policy.ts';
import type { PromptedCompletion } from './rollout.ts';
import type { GrpoSettings } from './settings.ts';
import { accumulateNll } from './supervised.ts';
import { readBlockNorms } from './update.ts';

export interface HealResult {
  /** Mean NLL of the completions of each step before it. */
  readonly losses: readonly number[];
  readonly expectations: readonly Expectation[];
}

/** `clean`: the completions of a step, counted from 0. */
export async function retainHeal(
  policy: Policy,
  clean: (step: number) => readonly PromptedCompletion[],
  steps: number,
  options: Omit<StepOptions, 'decay'>,
  { compute: { tokensPerPass }, loss: { detach } }: GrpoSettings,
): Promise<HealResult> {
  using optimiser = new AdamW(policy.adapter.parameters);
  const before = await hashValues(policy.adapter.blockValues('quarantine'));
  const losses: number[] = [];
  const expectations: Expectation[] = [];
  for (let i = 0; i < steps; i++) {
    optimiser.zeroGradients();
    losses.push(await accumulateNll(policy, optimiser, clean(i), { route: 'keep', tokensPerPass, detach }));
    const { quarantine } = await readBlockNorms(policy);
    optimiser.update(i + 1, { ...options, decay: 0 });
    await expectUnchanged(policy, before, i + 1);
    const detail = `|g_q| = ${quarantine} and its values are as they were after heal step ${i + 1}`;
    const name = 'the quarantine learns nothing while healing';
    expectations.push({ kind: 'expectation', name, holds: quarantine === 0, detail });
  }
  return { losses, expectations };
}

async function expectUnchanged({ adapter }: Policy, before: string, step: number): Promise<void> {
  if ((await hashValues(adapter.blockValues('quarantine'))) === before) return;
  throw new UserError({
    call: `retain-heal, step ${step}`,
    expected: 'a quarantine whose values stay as training left them',
    found: 'other values',
    fix: 'This is a fault of the program, and the run was stopped: set safety.healSteps to 0, and report it.',
  });
}
