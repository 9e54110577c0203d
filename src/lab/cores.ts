/** How many cores a process may use: all, or its share where an experiment runs several processes side by side (GQ_CORES). */
import { availableParallelism } from 'node:os';
import { UserError } from '../base/index.ts';

export const coresVariable = 'GQ_CORES';

/** null: nobody limits this process. */
export function coresLimit(): number | null {
  const text = process.env[coresVariable];
  if (text === undefined || text === '') return null;
  const cores = Number(text);
  if (Number.isSafeInteger(cores) && cores >= 1) return cores;
  throw new UserError({ call: coresVariable, expected: 'a whole number of at least 1', found: text });
}

/** An even share for each of so many processes. */
export function coresEach(processes: number): number {
  return Math.max(1, Math.floor((coresLimit() ?? availableParallelism()) / processes));
}
