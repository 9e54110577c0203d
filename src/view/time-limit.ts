/** Work that is stopped when it takes too long: a regular expression can try for ever, and nothing else could end it. */
import { createContext, Script } from 'node:vm';
import { UserError } from '../base/index.ts';

/** Nothing else is answered meanwhile, not even Ctrl-C. */
export const mostSearchMs = 1500;

/** Made once: a context costs more than most searches of a run. */
const [context, script] = [createContext({ work: () => undefined }), new Script('work()')];

/** The value of `work`, which nothing may wait in. */
export function withinLimit<Value>(work: () => Value, limitMs = mostSearchMs): Value {
  context['work'] = work;
  try {
    return script.runInContext(context, { timeout: limitMs }) as Value;
  } catch (cause) {
    const code = (cause as { readonly code?: unknown } | null)?.code;
    if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw cause;
    throw new UserError({
      call: 'rollouts, text',
      expected: `a search that ends within ${limitMs / 1000} s`,
      found: 'one that goes on',
      fix: 'Repetitions within repetitions, like (a+)+, can take for ever: write a simpler expression, or search fewer updates.',
    });
  } finally {
    context['work'] = null;
  }
}
