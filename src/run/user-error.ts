/** Errors that the person at the keyboard can cure, as UserErrors; all others are failures and keep their stack. */
import { OutOfMemoryError, UserError } from '../base/index.ts';
import { systemComplaint } from '../base/node/index.ts';

const memoryAdvice =
  'Lower compute.tokensPerPass, sampling.promptsPerStep, sampling.group, sampling.maxNewTokens or adapter.rank, or raise device.arenaMiB (at most 4096 on wasm).';

export function userErrorOf(error: unknown): UserError | null {
  if (error instanceof UserError) return error;
  if (error instanceof OutOfMemoryError)
    return new UserError({ ...error.complaint, fix: memoryAdvice }, { cause: error });
  // A `using` that fails while another error is under way hides that one in `suppressed`.
  const { suppressed } = error instanceof Error ? (error as Error & { suppressed?: unknown }) : {};
  const hidden = suppressed === undefined ? null : userErrorOf(suppressed);
  if (hidden !== null) return hidden;
  const complaint = systemComplaint(error);
  return complaint === null ? null : new UserError(complaint, { cause: error });
}
