/** A run whose numbers are no longer finite stops with what happened and what to try; its last checkpoint stays as it is. */
import { DeviceError, ShapeError, UserError } from '../base/index.ts';
import type { GrpoSettings } from './settings.ts';
import type { StepOutcome } from './stages.ts';

/** `update` is the one that was being made, from 1. */
export function assertFinite(
  { result }: Pick<StepOutcome, 'result'>,
  tripwireLogp: number | null,
  update: number,
  settings: GrpoSettings,
): void {
  const values: readonly (readonly [string, number])[] = [
    ['the loss', result?.loss ?? 0],
    ['the gradient norm', result?.gradientNorm ?? 0],
    ['the log-probability of the tripwire set', tripwireLogp ?? 0],
  ];
  const bad = values.find(([, value]) => !Number.isFinite(value));
  if (bad !== undefined) throw diverged(update, `${bad[0]} is ${bad[1]}`, settings);
}

/** What a sampler, a scorer or a gate says about numbers that are not finite, as the end of a run; other errors as they are. */
export function explainDivergence(error: unknown, update: number, settings: GrpoSettings): unknown {
  const known = error instanceof ShapeError || error instanceof DeviceError;
  if (!known || !error.complaint.expected.startsWith('finite')) return error;
  const { call, expected, found } = error.complaint;
  return diverged(update, `${call}: expected ${expected}, found ${found}`, settings, error);
}

function diverged(update: number, found: string, { optimiser }: GrpoSettings, cause?: unknown): UserError {
  const { learningRate, maxGradientNorm } = optimiser;
  return new UserError(
    {
      call: `update ${update}`,
      expected: 'finite numbers',
      found,
      fix: `Training has diverged: lower optimiser.learningRate (now ${learningRate}) or optimiser.maxGradientNorm (now ${maxGradientNorm}), or warm up longer. The last checkpoint is from before this update.`,
    },
    cause === undefined ? {} : { cause },
  );
}
