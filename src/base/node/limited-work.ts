/**
 * Work that is stopped when it computes for too long: a regular expression can try for ever, and only the engine itself can end it. What
 * counts is the time of the processor: on a machine that is busy with other things, work that was only kept waiting is done again.
 */
import { createContext, Script } from 'node:vm';

/** Made once: a context costs more than most searches. */
const [context, script] = [createContext({ work: () => undefined }), new Script('work()')];

/** The value of `work`, which must be the same each time and may wait for nothing; null if it computed longer than so many milliseconds. */
export function withinLimit<Value>(work: () => Value, limitMs: number): { readonly value: Value } | null {
  context['work'] = work;
  try {
    for (let waitMs = limitMs; ; waitMs *= 2) {
      const before = process.cpuUsage();
      try {
        return { value: script.runInContext(context, { timeout: waitMs }) as Value };
      } catch (error) {
        // The error may be of another realm, so its class says nothing.
        const { code } = (error ?? {}) as { readonly code?: unknown };
        if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      }
      const { user, system } = process.cpuUsage(before);
      // Half is enough: a clock that is a little off must not cost a second try.
      if (user + system >= (limitMs * 1000) / 2) return null;
    }
  } finally {
    context['work'] = null;
  }
}
