/** A search of rollouts is stopped when it computes for too long: a regular expression can try for ever. */
import { UserError } from '../base/index.ts';
import { withinLimit } from '../base/node/index.ts';

/** Milliseconds for what is read of a run at a time. Nothing else is answered meanwhile, not even Ctrl-C. */
const mostSearchMs = 10_000;

/** The value of a search. */
export function searchWithin<Value>(search: () => Value, limitMs = mostSearchMs): Value {
  const found = withinLimit(search, limitMs);
  if (found !== null) return found.value;
  throw new UserError({
    call: 'rollouts, text',
    expected: `a search that ends within ${limitMs / 1000} s`,
    found: 'one that goes on',
    fix: 'Repetitions within repetitions, like (a+)+, can take for ever: write a simpler expression, or search fewer updates.',
  });
}
