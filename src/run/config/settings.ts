/** The settings of the training loop: the numbers of the config, with the device's values for what it leaves null, and its teacher phase. */
import type { ComputeTable, GrpoSettings } from '../../grpo/index.ts';
import { isDemonstration } from '../../grpo/teacher.ts';
import type { RunConfig } from './schema.ts';

/** On a GPU, reading every token would make it wait, and a batch that shrinks row by row could not be replayed as a graph. */
export function computeTable({ device, compute }: RunConfig): ComputeTable {
  const distant = device.kind === 'cuda' || device.kind === 'webgpu';
  return {
    tokensPerPass: compute.tokensPerPass,
    recompute: compute.recompute,
    readEvery: compute.readEvery ?? (distant ? 16 : 1),
    rowStep: compute.rowStep ?? (distant ? 32 : 1),
    sampleByShard: distant,
  };
}

/** In bf16, rounding can make single log-probabilities differ a lot, so the mean difference is the better measure. */
function parityOf({ device, safety }: RunConfig): Pick<GrpoSettings['safety'], 'parityTolerance' | 'parityOver'> {
  const rounded = device.kind === 'cuda' && device.precision === 'bf16';
  return rounded
    ? { parityTolerance: safety.parityTolerance ?? 0.05, parityOver: 'mean' }
    : { parityTolerance: safety.parityTolerance ?? 2e-4, parityOver: 'largest' };
}

export function grpoSettings(config: RunConfig): GrpoSettings {
  const { seed, updates, sampling, environment, loss, optimiser, teacher } = config;
  const { tripwireNats } = config.safety;
  const safety = { ...parityOf(config), tripwireNats };
  return { seed, updates, sampling, environment, loss, optimiser, teacher, safety, compute: computeTable(config) };
}

export const hasTeacher = ({ teacher }: Pick<RunConfig, 'teacher'>): boolean =>
  teacher.pool !== null || teacher.makeProblems > 0;

export type DemonstrationTest = (id: string, loophole: string) => boolean;

export const demonstrationTest =
  (config: RunConfig): DemonstrationTest =>
  (id, loophole) =>
    hasTeacher(config) && isDemonstration(config, id, loophole !== 'gt_only');
