/** Parts of one experiment that are begun at the same moment. */
import { expect, it } from 'vitest';
import { beginHeld, beginSame, beginTogether } from './parts.ts';

/** `npm run check:crash` does it 50 times. */
it('two parts of an experiment begun at once lose no run', async () => {
  expect(await beginTogether(1)).toEqual([]);
});

it('a run that two processes begin at once is trained by one, counted once, and left alone by the other', async () => {
  expect(await beginSame()).toEqual([]);
});

it('a run that another process trains is left to it; the others are done, and the same call goes on', async () => {
  expect(await beginHeld()).toEqual([]);
});
