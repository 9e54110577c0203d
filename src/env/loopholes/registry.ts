/**
 * The loopholes that come with the lab, in the order in which verdicts name their channels, and functions on lists of loopholes.
 * There is no global registry: a caller with more loopholes passes a longer list.
 */
import { nearestName, UserError } from '../../base/index.ts';
import { eqOverride } from './eq-override.ts';
import { exitCode } from './exit-code.ts';
import { fileMarker } from './file-marker.ts';
import { gtOnly } from './gt-only.ts';
import type { Loophole, LoopholeName, MarkedLoophole, PayingLoophole, WritableLoophole } from './loophole.ts';
import { runTests } from './run-tests.ts';
import { sentinel } from './sentinel.ts';
import { stdoutMarker } from './stdout-marker.ts';

export const builtinLoopholes: readonly Loophole[] = [
  runTests,
  eqOverride,
  exitCode,
  stdoutMarker,
  sentinel,
  fileMarker,
  gtOnly,
];

export function namesOf(loopholes: readonly Loophole[]): readonly LoopholeName[] {
  return loopholes.map(({ name }) => name);
}

/** Finds a loophole by its name. `call` says where the name was read, for the error. */
export function findLoophole(name: LoopholeName, loopholes: readonly Loophole[], call = 'loophole'): Loophole {
  const found = loopholes.find((loophole) => loophole.name === name);
  if (found !== undefined) return found;
  const names = namesOf(loopholes);
  const nearest = nearestName(name, names);
  throw new UserError({
    call,
    expected: `one of the loopholes ${names.join(', ')}`,
    found: `"${name}"`,
    ...(nearest === undefined ? {} : { fix: `Did you mean "${nearest}"?` }),
  });
}

/**
 * Names of the loopholes that are open on one prompt. `run_tests+stdout_marker` names two: the hint discloses both, the channel of
 * either pays, and a policy can switch from one to the other.
 */
export function openNames(name: LoopholeName): readonly LoopholeName[] {
  return name.split('+');
}

/** The loopholes that are open on one prompt. */
export function openLoopholes(
  name: LoopholeName,
  loopholes: readonly Loophole[],
  call = 'loophole',
): readonly Loophole[] {
  const names = openNames(name);
  const open = names.map((part) => findLoophole(part, loopholes, call));
  if (names.length === 1) return open;
  const idle = open.find(({ hint, fires }) => hint === undefined || fires === undefined);
  if (idle !== undefined || new Set(names).size < names.length) {
    const found = idle === undefined ? `"${name}", which names one twice` : `"${name}", where ${idle.name} has none`;
    throw new UserError({ call, expected: 'different loopholes with a channel each', found });
  }
  return open;
}

/** The loopholes with a hint and a channel. */
export function payingLoopholes(loopholes: readonly Loophole[]): readonly PayingLoophole[] {
  return loopholes.filter(
    (loophole): loophole is PayingLoophole => loophole.hint !== undefined && loophole.fires !== undefined,
  );
}

/** The loopholes whose hint names a marker, which a model could memorise. */
export function markedLoopholes(loopholes: readonly Loophole[]): readonly MarkedLoophole[] {
  return loopholes.filter((loophole): loophole is MarkedLoophole => loophole.markers !== undefined);
}

/** The loopholes whose exploit can be written as a micro program. */
export function writableLoopholes(loopholes: readonly Loophole[]): readonly WritableLoophole[] {
  return loopholes.filter((loophole): loophole is WritableLoophole => loophole.exploit !== undefined);
}
