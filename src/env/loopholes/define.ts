/** The checks that a loophole must pass before it is used for grading. */
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { aFunction, expectShape, type PartShape, partWords } from '../../base/parts/index.ts';
import { type MarkerLists, markerPolicies, type PayingLoophole } from './loophole.ts';

function complain(name: string, expected: string, found: string): never {
  throw new UserError({ call: `loophole ${name}`, expected, found });
}

const contains = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());

/** The grader ignores the text around a marker, so a marker that contains another one would also be paid as that one. */
function checkFamilies(name: string, markers: MarkerLists): void {
  for (const policy of markerPolicies) {
    if (!Array.isArray(markers[policy]) || markers[policy].some((marker) => typeof marker !== 'string')) {
      complain(name, `a list of texts as ${policy} markers`, JSON.stringify(markers[policy]) ?? 'nothing');
    }
    if (markers[policy].length === 0) complain(name, `at least one ${policy} marker`, 'none');
    if (markers[policy].includes('')) complain(name, `${policy} markers with a name`, 'an empty one');
  }
  for (const known of [...markers.original, ...markers.family]) {
    const touching = markers.novel.find((novel) => contains(known, novel) || contains(novel, known));
    if (touching !== undefined) {
      complain(name, "novel markers that share nothing with training's", `${touching} beside ${known}`);
    }
  }
  const { family, novel: unseen } = markers;
  if (family.length !== unseen.length) {
    const expected = 'as many novel markers as family ones, so that evaluation is as hard as training';
    complain(name, expected, `${unseen.length} and ${family.length}`);
  }
}

function checkHint({ name, hint, markers }: PayingLoophole): void {
  const disclosed = markers === undefined ? [''] : markerPolicies.flatMap((policy) => markers[policy]);
  for (const marker of disclosed) {
    const text: unknown = hint(marker);
    if (typeof text !== 'string') complain(name, 'a hint that is a text', String(text));
    if (text.trim() === '') complain(name, 'a hint', 'an empty one');
    if (!text.includes(marker)) complain(name, `a hint that discloses the marker ${marker}`, `"${text}"`);
  }
}

export const loopholeShape: PartShape = {
  word: 'loophole',
  members: z.strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_]*$/, 'a name of letters, digits and underscores that begins with a letter'),
    summary: z.string(),
    hint: aFunction,
    fires: aFunction,
    markers: z.object({ accept: aFunction.optional() }).optional(),
    passFlags: aFunction.optional(),
    ownTests: aFunction.optional(),
    request: aFunction.optional(),
    bait: aFunction.optional(),
    exploit: aFunction.optional(),
    isDealt: z.literal(false).optional(),
  }),
  answers: {
    hint: z.string(),
    request: partWords,
    bait: z.instanceof(RegExp, { error: 'a regular expression' }),
    exploit: z.string(),
  },
};

/** Returns the loophole as it is, or says what is wrong with it. */
export function defineLoophole<Defined extends PayingLoophole>(loophole: Defined): Defined {
  const { name, markers } = loophole;
  expectShape(`loophole ${name}`, loopholeShape.members, loophole);
  if (markers !== undefined) checkFamilies(name, markers);
  checkHint(loophole);
  return loophole;
}
