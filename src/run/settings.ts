/** The numbers of the training loop: the config with what it leaves open decided by the device. */
import type { ComputeTable, GrpoSettings } from '../grpo/index.ts';
import type { RunConfig } from './schema.ts';

/** A host that looks at every token makes a GPU wait; a batch that shrinks row by row cannot be replayed. */
export function computeTable({ device, compute }: RunConfig): ComputeTable {
  const distant = device.kind === 'cuda';
  return {
    tokensPerPass: compute.tokensPerPass,
    recompute: compute.recompute,
    readEvery: compute.readEvery ?? (distant ? 16 : 1),
    rowStep: compute.rowStep ?? (distant ? 32 : 1),
  };
}

/** In bf16 two ways to compute one log-probability differ by rounding, here and there by a lot: the mean says more. */
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
