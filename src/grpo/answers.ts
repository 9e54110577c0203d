/** Checks on what an arm's hooks answer, made before an answer is used: one of the wrong size would go unnoticed into training. */
import { UserError } from '../base/index.ts';
import type { Routing, Screening } from './arm.ts';
import type { PromptedCompletion } from './rollout.ts';

export function checkRewards(rewards: Float32Array, count: number): Float32Array {
  expectCount('reward', rewards.length, count);
  const bad = rewards.findIndex((reward) => !Number.isFinite(reward));
  if (bad >= 0) refuse('reward', 'finite rewards', `${rewards[bad]} for rollout ${bad}`);
  return rewards;
}

export function checkScreening(screening: readonly Screening[], count: number): readonly Screening[] {
  expectCount('screen', screening.length, count);
  return screening;
}

export function checkRouting(routing: Routing, rollouts: readonly PromptedCompletion[]): Routing {
  const { routes, scores } = routing;
  expectCount('route', routes.length, rollouts.length);
  if (scores !== null) expectCount('route', scores.length, rollouts.length);
  routes.forEach(({ length }, i) => {
    const { length: tokens } = rollouts[i].tokens;
    if (length !== 1 && length !== tokens) {
      refuse('route', `one route or ${tokens} for rollout ${i}, one per token`, `${length}`);
    }
  });
  return routing;
}

function expectCount(hook: string, found: number, count: number): void {
  if (found !== count) refuse(hook, `${count} answers, one per rollout`, `${found}`);
}

function refuse(hook: string, expected: string, found: string): never {
  const fix = 'The hook must return one answer for every rollout it was shown, in the same order.';
  throw new UserError({ call: `hook ${hook} of the arm`, expected, found, fix });
}
