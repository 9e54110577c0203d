/** A run that is killed at random moments and resumed each time equals one that was not: a sample of `npm run check:crash`. */
import { expect, it } from 'vitest';
import { gatedKills, killAndCompare, singularKills } from './kill.ts';

it('four kills over six updates change no byte', { timeout: 600_000 }, async () => {
  const few = { ...gatedKills, kills: 4, updates: 6 };
  const { kills, resumedFrom, differences } = await killAndCompare(few);
  expect(differences).toEqual([]);
  expect(kills).toBeGreaterThanOrEqual(few.kills);
  // The kills must have hit the run at different checkpoints.
  expect(new Set(resumedFrom).size).toBeGreaterThanOrEqual(2);
});

it('a kill of a run whose adapter starts from singular vectors changes no byte', { timeout: 600_000 }, async () => {
  const { kills, resumedFrom, differences } = await killAndCompare({ ...singularKills, kills: 1, updates: 4 });
  expect(differences).toEqual([]);
  expect(kills).toBeGreaterThanOrEqual(1);
  expect(Math.max(...resumedFrom)).toBeGreaterThanOrEqual(2);
});
