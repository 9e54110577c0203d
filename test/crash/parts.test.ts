/** Parts of one experiment that are begun at the same moment. */
import { expect, it } from 'vitest';
import { beginTogether } from './parts.ts';

/** `npm run check:crash` has 50. */
const rounds = 3;

it(`two parts of an experiment begun at once lose no run: ${rounds} times`, async () => {
  expect(await beginTogether(rounds)).toEqual([]);
});
