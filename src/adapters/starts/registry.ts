/** The starts that ship with the project, and the lookup of a family name in a list: this one, or a longer one of the caller. */
import { nearestName, UserError } from '../../base/index.ts';
import { antipasto } from './antipasto.ts';
import { corda } from './corda.ts';
import { lora } from './lora.ts';
import { loraFrozenB } from './lora-frozen-b.ts';
import { pissa } from './pissa.ts';
import { scorda, scordaReversed } from './scorda.ts';
import type { AdapterStart } from './start.ts';

const shipped = [lora, loraFrozenB, pissa, corda, scorda, scordaReversed, antipasto] as const;
export type Family = (typeof shipped)[number]['name'];

export const builtinStarts: readonly AdapterStart<Family>[] = shipped;
export const families: readonly Family[] = shipped.map(({ name }) => name);

export function findStart(family: string, starts: readonly AdapterStart[] = builtinStarts): AdapterStart {
  const start = starts.find(({ name }) => name === family);
  if (start !== undefined) return start;
  const names = starts.map(({ name }) => name);
  const nearest = nearestName(family, names);
  throw new UserError({
    call: 'adapter family',
    expected: names.join(', '),
    found: family,
    ...(nearest === undefined ? {} : { fix: `Did you mean ${nearest}?` }),
  });
}
