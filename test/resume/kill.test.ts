/** A run that is killed at random moments and resumed each time equals one that was not: a sample of `npm run check:crash`. */
import { expect, it } from 'vitest';
import { gatedKills, killAndCompare } from './kill.ts';

it('kills of a run with a gate, and an adapter from singular vectors, change no byte', async () => {
  const settings = [...gatedKills.settings, 'adapter.family=scorda'];
  const few = { ...gatedKills, settings, kills: 3, updates: 6 };
  const { kills, resumedFrom, differences } = await killAndCompare(few);
  expect(differences).toEqual([]);
  // The run may reach its end before the one at its end.
  expect(kills).toBeGreaterThanOrEqual(few.kills);
  // The kills must have hit the run at different checkpoints, and one after an update.
  expect(new Set(resumedFrom).size).toBeGreaterThanOrEqual(2);
  expect(Math.max(...resumedFrom)).toBeGreaterThanOrEqual(2);
});
