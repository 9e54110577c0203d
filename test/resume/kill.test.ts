/** A run that is killed at twenty random moments and resumed each time equals one that was not. */
import { expect, it } from 'vitest';
import { killAndCompare } from './kill.ts';

it('twenty kills over twelve updates change no byte', { timeout: 600_000 }, async () => {
  const gate = ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=3'];
  const settings = [...gate, 'safety.healSteps=1', 'loss.epochs=2'];
  const { kills, resumedFrom, differences } = await killAndCompare({
    kills: 20,
    updates: 12,
    checkpointEvery: 2,
    seed: 3,
    settings,
  });
  expect(differences).toEqual([]);
  expect(kills).toBeGreaterThanOrEqual(20);
  // The kills must have hit the run at different checkpoints.
  expect(new Set(resumedFrom).size).toBeGreaterThanOrEqual(5);
});

it('three kills of a run whose adapter starts from singular vectors change no byte', { timeout: 600_000 }, async () => {
  const { kills, resumedFrom, differences } = await killAndCompare({
    kills: 3,
    updates: 6,
    checkpointEvery: 2,
    seed: 5,
    settings: ['arm.kind=gradient', 'arm.warmupRows=4', 'arm.refreshEvery=3', 'adapter.family=scorda'],
  });
  expect(differences).toEqual([]);
  expect(kills).toBeGreaterThanOrEqual(3);
  expect(Math.max(...resumedFrom)).toBeGreaterThanOrEqual(2);
});
