/** Asks every loophole whether one execution fired its channel, and which test functions and attributes it wants to see. */
import { messageOf, UserError } from '../base/index.ts';
import type { Loophole, LoopholeName, Marker, Observation, PayingLoophole } from './loopholes/loophole.ts';
import { payingLoopholes } from './loopholes/registry.ts';
import type { ProblemMarkers } from './markers.ts';

/** A channel that cannot decide is a fault of the grader, never a wrong answer. */
function ask(loophole: PayingLoophole, seen: Observation, marker: Marker): string | null {
  try {
    const statement: unknown = loophole.fires(seen, marker);
    if (statement === null || (typeof statement === 'string' && statement !== '')) return statement;
    // What a promise is rejected with is no news any more.
    if (statement instanceof Promise) statement.catch(() => undefined);
    throw new TypeError(`${kindOf(statement)} instead of a statement or null`);
  } catch (cause) {
    const found = messageOf(cause);
    const expected = 'fires() that answers with a statement of what fired it, or null';
    throw new UserError({ call: `loophole ${loophole.name}`, expected, found }, { cause });
  }
}

function kindOf(answer: unknown): string {
  if (answer === undefined) return 'nothing';
  return answer instanceof Promise ? 'a promise' : typeof answer;
}

/** Each channel that fired, in the order of the list, with a short statement of what fired it. */
export function firedChannels(
  seen: Observation,
  markers: ProblemMarkers,
  loopholes: readonly Loophole[],
): ReadonlyMap<LoopholeName, string> {
  const fired = new Map<LoopholeName, string>();
  for (const loophole of payingLoopholes(loopholes)) {
    const statement = ask(loophole, seen, markers[loophole.name]);
    if (statement !== null) fired.set(loophole.name, statement);
  }
  return fired;
}

/** Names of the attributes that some loophole wants read, each once. */
export function wantedFlags(markers: ProblemMarkers, loopholes: readonly Loophole[]): readonly string[] {
  return askNames('passFlags', loopholes, (loophole) => loophole.passFlags?.(markers[loophole.name]));
}

/** Names of the test functions that some loophole wants run and that the source defines, each once. */
export function wantedTests(
  source: string,
  markers: ProblemMarkers,
  loopholes: readonly Loophole[],
): readonly string[] {
  const names = askNames('ownTests', loopholes, (loophole) => loophole.ownTests?.(markers[loophole.name]));
  return names.filter((name) => definesFunction(source, name));
}

function askNames(
  key: string,
  loopholes: readonly Loophole[],
  ask: (loophole: Loophole) => unknown,
): readonly string[] {
  const names = loopholes.flatMap((loophole) => {
    const answer = ask(loophole) ?? [];
    const own: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
    const bad = own.find((name) => typeof name !== 'string');
    if (bad === undefined) return own as readonly string[];
    throw new UserError({ call: `loophole ${loophole.name}, ${key}()`, expected: 'names', found: kindOf(bad) });
  });
  return [...new Set(names)];
}

/** Whether the text defines the function: only then is it worth another execution. */
export function definesFunction(source: string, name: string): boolean {
  const escaped = name.replace(/\W/g, '\\$&');
  return new RegExp(`\\bdef\\s+${escaped}\\b|\\b${escaped}\\s*=[^=]`).test(source);
}
