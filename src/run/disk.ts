/** The room that the checkpoints of a run take on disk, known from its config; headers and small files do not count. */
import { countNumbers } from '../adapters/shapes.ts';
import type { AdapterStart } from '../adapters/starts/start.ts';
import type { TargetModule } from '../adapters/targets.ts';
import { hasLasting } from '../grpo/lasting-table.ts';
import type { RunConfig } from './config/schema.ts';

export type DiskPlan = Readonly<ReturnType<typeof planDisk>>;

const floatBytes = 4;

export function planDisk(
  { adapter: { rank }, arm, updates, sampling, output, safety, lasting }: RunConfig,
  { parametrisation }: Pick<AdapterStart, 'parametrisation'>,
  modules: readonly TargetModule[],
) {
  const bytes = (part: 'learned' | 'initial') => floatBytes * countNumbers(part, parametrisation, rank, modules);
  const [initialBytes, adapterBytes] = [bytes('initial'), bytes('learned')];
  const rollouts = updates * sampling.promptsPerStep * sampling.group;
  const stateBytes = 2 * adapterBytes + floatBytes * gateNumbers(arm, modules.length * rank, rollouts);
  const after = Number(safety.healSteps > 0) + Number(hasLasting({ lasting }));
  const checkpoints = 1 + Math.ceil(updates / output.checkpointEvery) + after;
  const states = output.keepState === 'all' ? checkpoints : Math.min(2, checkpoints);
  const mostBytes = initialBytes + checkpoints * adapterBytes + states * stateBytes;
  return { initialBytes, adapterBytes, stateBytes, checkpoints, mostBytes };
}

/** A gate keeps its buffer, the number of rows of each rollout in it, and its direction. */
function gateNumbers(arm: RunConfig['arm'], features: number, rollouts: number): number {
  const { bufferRows, granularity, bufferTokens } = arm;
  if (typeof bufferRows !== 'number') return 0;
  const kept = Math.min(bufferRows, rollouts);
  const rows = granularity === 'token' ? kept * Number(bufferTokens) : kept;
  return kept + (rows + 1) * features;
}

export function describeDisk(
  { initialBytes, adapterBytes, stateBytes, checkpoints, mostBytes }: DiskPlan,
  { keepState }: RunConfig['output'],
): string {
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(2)} GB`;
  const state = `${gigabytes(stateBytes)} of state in ${keepState === 'all' ? 'each' : 'the newest'}`;
  return `checkpoints need up to ${gigabytes(mostBytes)} on disk: initial values ${gigabytes(initialBytes)} once, ${gigabytes(adapterBytes)} in each of ${checkpoints} checkpoints, ${state}`;
}
