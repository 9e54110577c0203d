/** The problems of an update, and which of them lose their hint. Both are functions of (seed, step), so nothing needs saving. */
import { randomStream, UserError } from '../base/index.ts';
import type { Task } from './rollout.ts';
import type { GrpoSettings } from './settings.ts';

export interface DrawnTask {
  readonly task: Task;
  readonly hackable: boolean;
}

/** The next problems of an endless shuffled deck, each pass over the problems in a new order. */
export function drawTasks(
  tasks: readonly Task[],
  {
    seed,
    sampling: { promptsPerStep },
    environment: { unhackableFraction },
  }: Pick<GrpoSettings, 'seed' | 'environment'> & { readonly sampling: { readonly promptsPerStep: number } },
  step: number,
): DrawnTask[] {
  if (tasks.length === 0)
    throw new UserError({ call: 'draw problems', expected: 'at least one problem', found: 'none' });
  const orders = new Map<number, Int32Array>();
  return Array.from({ length: promptsPerStep }, (_, i) => {
    const place = step * promptsPerStep + i;
    const pass = Math.floor(place / tasks.length);
    const order = orders.get(pass) ?? randomStream(seed, 'problem order', pass).permutation(tasks.length);
    orders.set(pass, order);
    const task = tasks[order[place % tasks.length]];
    return { task, hackable: isHackable(task, seed, step, unhackableFraction) };
  });
}

/** The draw depends on seed, step and problem, so that other problems are shown without their hint in every update. */
function isHackable(task: Task, seed: number, step: number, unhackableFraction: number): boolean {
  if (task.loophole === 'gt_only') return false;
  return randomStream(seed, ['unhackable', task.problem.id], step).uniformAt(0) >= unhackableFraction;
}
