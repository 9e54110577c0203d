/** How many cores a process may use: all, or its share where an experiment runs several processes side by side (GQ_CORES). */
import { availableParallelism } from 'node:os';
import { wholeNumber } from '../cli/values.ts';

export const coresVariable = 'GQ_CORES';

/** null: nobody limits this process. */
export function coresLimit(): number | null {
  const text = process.env[coresVariable];
  return text === undefined || text === '' ? null : wholeNumber(text, coresVariable, 1);
}

/** An even share for each of so many processes. */
export function coresEach(processes: number): number {
  return Math.max(1, Math.floor((coresLimit() ?? availableParallelism()) / processes));
}
