/** Errors that the person at the keyboard can cure, as UserErrors; all others are failures and keep their stack. */
import { firstError, OutOfMemoryError, UserError } from '../base/index.ts';
import { systemComplaint } from '../base/node/index.ts';

const memoryAdvice =
  'Lower compute.tokensPerPass, sampling.promptsPerStep, sampling.group, sampling.maxNewTokens or adapter.rank, or raise device.arenaMiB (at most 4096 on wasm).';

export function userErrorOf(thrown: unknown): UserError | null {
  const error = firstError(thrown);
  if (error instanceof UserError) return error;
  if (error instanceof OutOfMemoryError)
    return new UserError({ ...error.complaint, fix: memoryAdvice }, { cause: error });
  const complaint = systemComplaint(error);
  return complaint === null ? null : new UserError(complaint, { cause: error });
}
