/** How many cores a process may use: all, or its share (GQ_CORES) if an experiment runs several processes side by side. */
import { availableParallelism } from 'node:os';
import { UserError } from '../base/index.ts';

export const coresVariable = 'GQ_CORES';

/** The limit on this process; null: there is none. */
export function coresLimit(): number | null {
  const text = process.env[coresVariable];
  if (text === undefined || text === '') return null;
  const cores = Number(text);
  if (Number.isSafeInteger(cores) && cores >= 1) return cores;
  throw new UserError({ call: coresVariable, expected: 'a whole number of at least 1', found: text });
}

/** The cores that each of so many processes gets. */
export function coresEach(processes: number): number {
  return Math.max(1, Math.floor((coresLimit() ?? availableParallelism()) / processes));
}
