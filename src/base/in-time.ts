/** A limit for what other people's code answers: a promise that is never kept would hold up everything, without a word. */
import { UserError } from './errors.ts';

/** How long one call of such code may take where nothing else is said. */
export const longestSeconds = 3600;

/** A longer timer would fire at once. */
const longestTimer = 2 ** 31 - 1;

interface Patience {
  /** Which code is called, and what it should come to. */
  readonly call: string;
  readonly expected: string;
  readonly mostSeconds?: number;
  readonly fix?: string;
}

export async function inTime<Answer>(
  answer: Answer | PromiseLike<Answer>,
  { call, expected, mostSeconds = longestSeconds, fix = 'It may wait for what never comes.' }: Patience,
): Promise<Answer> {
  if (mostSeconds === Number.POSITIVE_INFINITY) return await answer;
  let clock: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new UserError({ call, expected: `${expected} within ${mostSeconds} seconds`, found: 'none', fix });
    clock = setTimeout(() => reject(error), Math.min(mostSeconds * 1000, longestTimer));
    // Where nothing else could settle the answer, the process ends at once, and says so. A browser's timer is a number.
    clock.unref?.();
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(clock);
  }
}
