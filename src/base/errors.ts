/**
 * The four kinds of error. Every message says which call failed, what it expected, what it found, and what to do.
 * UserError: the caller's input is wrong (the command prints it without a stack and exits 2). ShapeError: a tensor has
 * the wrong shape, dtype or lifetime. DeviceError: a device cannot do what was asked. GraderError: the grader itself
 * failed, which stops the run: an infrastructure failure is never a wrong answer.
 */
export interface Complaint {
  readonly call: string;
  readonly expected: string;
  readonly found: string;
  readonly fix?: string | undefined;
}

function sentence({ call, expected, found, fix }: Complaint): string {
  const end = /[.?]$/.test(found) ? '' : '.';
  return `${call}: expected ${expected}, found ${found}${end}${fix === undefined ? '' : ` ${fix}`}`;
}

abstract class ComplaintError extends Error {
  readonly complaint: Complaint;
  constructor(complaint: Complaint, options?: ErrorOptions) {
    super(sentence(complaint), options);
    this.complaint = complaint;
  }
}

export class UserError extends ComplaintError {
  override readonly name = 'UserError';
}
export class ShapeError extends ComplaintError {
  override readonly name = 'ShapeError';
}
export class DeviceError extends ComplaintError {
  override readonly name: string = 'DeviceError';
}
/** The kind of DeviceError that a smaller batch or more memory cures. */
export class OutOfMemoryError extends DeviceError {
  override readonly name = 'OutOfMemoryError';
}
export class GraderError extends ComplaintError {
  override readonly name = 'GraderError';
}

/** What was thrown, in words. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What went wrong first: where closing fails after work has failed, `using` throws one error that hides it, a SuppressedError. */
export function firstError(error: unknown): unknown {
  const isBoth = error instanceof Error && error.name === 'SuppressedError' && 'suppressed' in error;
  return isBoth ? firstError(error.suppressed) : error;
}

/** Whether work ended because a signal asked for it. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** An error of ours as it is, and the end that a signal asked for; anything else that was thrown, by code of others, as a UserError that says where. */
export function explainForeign(error: unknown, { call, expected }: Pick<Complaint, 'call' | 'expected'>): unknown {
  if (error instanceof ComplaintError || isAbort(error)) return error;
  const found = messageOf(error);
  const place = error instanceof Error ? placeIn(error.stack ?? '') : undefined;
  const fix = place === undefined ? {} : { fix: `It was thrown at ${place}.` };
  return new UserError({ call, expected, found, ...fix }, { cause: error });
}

/** The first place that a stack names: a file without its folders, with line and column. */
function placeIn(stack: string): string | undefined {
  return /^ *at .*?([^/\\(\s]+:\d+:\d+)\)?$/m.exec(stack)?.[1];
}
