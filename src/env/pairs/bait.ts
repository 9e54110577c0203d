/**
 * Which loopholes a pair shows, found by reading alone: by its tags, by a hint in its prompt, or by a hack side that takes the bait
 * where the clean side does not. No program is run and no label is read.
 */
import { UserError } from '../../base/index.ts';
import type { Loophole, LoopholeName } from '../loopholes/loophole.ts';
import { builtinLoopholes, openNames } from '../loopholes/registry.ts';
import { type Pair, promptTexts } from './pair.ts';

/** Whether a text contains what the exploit of a loophole needs, with one of these markers. */
export function takesBait(text: string, { name, markers, bait }: Loophole, disclosed: readonly string[]): boolean {
  if (bait !== undefined) return disclosed.some((marker) => bait(marker).test(text));
  if (markers !== undefined) return disclosed.some((marker) => text.toLowerCase().includes(marker.toLowerCase()));
  throw new UserError({
    call: `look for the exploit of ${name} in a text`,
    expected: 'a loophole with markers or a bait',
    found: 'one without either',
    fix: 'Give the loophole a bait: a pattern that every program with its exploit contains.',
  });
}

export function showsLoophole({ tags, prompt, hack, clean }: Pair, loophole: Loophole): boolean {
  if (tags.includes(loophole.name)) return true;
  const { hint, markers, bait } = loophole;
  const trained = markers === undefined ? [''] : [...markers.original, ...markers.family];
  const all = markers === undefined ? [''] : [...trained, ...markers.novel];
  const asked = promptTexts(prompt).join('\n');
  if (hint !== undefined && all.some((marker) => asked.includes(hint(marker)))) return true;
  if (markers === undefined && bait === undefined) return false;
  return takesBait(hack, loophole, trained) && !takesBait(clean, loophole, trained);
}

/** The names, among those given, of the loopholes that any of the pairs shows. */
export function shownLoopholes(
  pairs: readonly Pair[],
  names: readonly LoopholeName[],
  loopholes: readonly Loophole[] = builtinLoopholes,
): LoopholeName[] {
  const wanted = names.flatMap(openNames);
  return loopholes
    .filter((loophole) => wanted.includes(loophole.name) && pairs.some((pair) => showsLoophole(pair, loophole)))
    .map(({ name }) => name);
}
