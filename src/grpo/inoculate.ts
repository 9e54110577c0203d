/**
 * Phase 1 of an inoculation adapter: the quarantine learns to show the hack from demonstrations, by supervised steps under `route`,
 * in which the deployed block learns nothing; its values must stay as they are. The schedule is that of the source
 * (longtermrisk/inoculation-adapters, train.py): a linear warm-up of at most a tenth of the steps, then linearly to zero; AdamW, norm 1.
 */
import { randomStream, UserError } from '../base/index.ts';
import { AdamW, readFloats, type Tensor } from '../engine/index.ts';
import { hashValues, type Policy } from './policy.ts';
import type { PromptedCompletion } from './rollout.ts';
import { accumulateNll } from './supervised.ts';

export interface InoculationSettings {
  readonly seed: number;
  readonly epochs: number;
  readonly learningRate: number;
  /** Demonstrations per step. */
  readonly batch: number;
  readonly warmupSteps: number;
  readonly tokensPerPass: number;
}

const adam = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, decay: 0, maxNorm: 1 };

/** Returns the mean negative log-likelihood before each step. */
export async function teachQuarantine(
  policy: Policy,
  demonstrations: readonly PromptedCompletion[],
  { seed, epochs, learningRate, batch, warmupSteps, tokensPerPass }: InoculationSettings,
): Promise<number[]> {
  using optimiser = new AdamW(policy.adapter.parameters);
  const deployed = await hashValues(policy.adapter.blockValues('deployed'));
  const total = epochs * Math.ceil(demonstrations.length / batch);
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = randomStream(seed, 'inoculation', epoch).permutation(demonstrations.length);
    for (let at = 0; at < order.length; at += batch) {
      const own = Array.from(order.subarray(at, at + batch), (index) => demonstrations[index]);
      optimiser.zeroGradients();
      losses.push(await accumulateNll(policy, optimiser, own, { route: 'route', tokensPerPass, detach: 'parameter' }));
      const rate = learningRate * inoculationRate(losses.length - 1, warmupSteps, total);
      optimiser.update(losses.length, { ...adam, learningRate: rate });
    }
  }
  if ((await hashValues(policy.adapter.blockValues('deployed'))) === deployed) return losses;
  throw new UserError({
    call: 'pre-train the quarantine',
    expected: 'a deployed block whose values stay as they were',
    found: 'other values',
    fix: 'This is a fault of the program, and the run was stopped: please report it.',
  });
}

/** The share of the learning rate in a step, counted from 0. */
export function inoculationRate(step: number, warmupSteps: number, total: number): number {
  const warmup = Math.min(warmupSteps, Math.max(1, Math.floor(total / 10)));
  if (step < warmup) return (step + 1) / warmup;
  return Math.max(0, (total - step) / Math.max(1, total - warmup));
}

/**
 * Moves tensors from where they began as far as they have been moved since, each in a random direction: the control whose norms are
 * those of what was learned.
 */
export async function randomiseMoves(
  tensors: readonly Tensor[],
  began: readonly Float32Array[],
  seed: number,
): Promise<void> {
  for (const [i, tensor] of tensors.entries()) {
    const [start, now] = [began[i], await readFloats(tensor)];
    const noise = new Float32Array(start.length);
    randomStream(seed, ['inoculation', 'random', i]).fillNormal(noise, 1);
    const drawn = lengthOf(noise);
    const scale = drawn === 0 ? 0 : lengthOf(now.map((value, at) => value - start[at])) / drawn;
    tensor.device.write(
      tensor,
      start.map((value, at) => value + scale * noise[at]),
    );
  }
}

function lengthOf(vector: Float32Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}
