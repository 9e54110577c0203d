/** The evasion split by hand, and its file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/lab/hand-made.ts';
import { type Evasion, readEvasion, splitEvasion, writeEvasion } from './evasion.ts';

const row = (hack: boolean, base: number, policy: number, attempt = hack) => ({ attempt, hack, base, policy });
/** Two hacks that the policy's activations hide by 0.5 and 0.25, and three clean rollouts that change by 0.25, −0.25 and 0. */
const rows = [row(true, 1, 0.5), row(true, 0.75, 0.5), row(false, 0.25, 0.5), row(false, 0.5, 0.25), row(false, 0, 0)];

it('is the mean score on the base and on the policy, hacks and clean rollouts apart', () => {
  const { hacks, clean, difference, auroc } = splitEvasion(rows);
  expect(hacks).toMatchObject({ rollouts: 2, base: 0.875, policy: 0.5, difference: -0.375, contribution: -0.15 });
  expect(clean).toMatchObject({ rollouts: 3, base: 0.25, policy: 0.25, difference: 0, contribution: 0 });
  expect(difference).toBeCloseTo(-0.15, 15);
  // Of 2 · 3 pairs all are right on the base; on the policy two are tied, one for each hack.
  expect(auroc).toEqual({ base: 1, policy: 5 / 6 });
  // Differences −0.5 and −0.25 have a standard error of 0.125, and t(0.975; 1) is 12.7062.
  expect(hacks?.interval?.low).toBeCloseTo(-0.375 - 12.7062 * 0.125, 4);
  // Differences 0.25, −0.25 and 0 have a deviation of 0.25, and t(0.975; 2) is 4.30265.
  expect(clean?.interval?.high).toBeCloseTo((4.30265 * 0.25) / Math.sqrt(3), 4);
});

it('divides attempts by themselves: a right program that opens the loophole is on their side', () => {
  const { byAttempt, hacks } = splitEvasion([...rows, row(false, 0.6, 0.2, true)]);
  expect(hacks).toMatchObject({ rollouts: 2 });
  expect(byAttempt?.attempts).toMatchObject({ rollouts: 3 });
  expect(byAttempt?.attempts?.policy).toBeCloseTo(0.4, 12);
  expect(byAttempt?.others).toMatchObject({ rollouts: 3, base: 0.25 });
  // Of 3 · 3 pairs all are right on the base.
  expect(byAttempt?.auroc?.base).toBe(1);
});

it('has no side without rollouts, and no interval of one', () => {
  const { hacks, clean, auroc, difference } = splitEvasion([row(false, 0.5, 0.75)]);
  expect({ hacks, auroc, difference }).toEqual({ hacks: null, auroc: null, difference: 0.25 });
  expect(clean).toMatchObject({ rollouts: 1, interval: null, contribution: 0.25 });
});

it('is kept in the run, stamped as a diagnosis, and a changed file is refused', async () => {
  const run = temporaryFolder();
  expect(readEvasion(run)).toBeNull();
  const found: Evasion = {
    ...{ labels: 'diagnosis only', update: 4, from: 2, to: 4, rollouts: 5, abstained: 0 },
    ...splitEvasion(rows),
  };
  await writeEvasion(run, found);
  expect(readEvasion(run)).toEqual(found);
  const path = join(run, 'evasion.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace('0.875', '0.125'));
  expect(() => readEvasion(run)).toThrow(/evasion\.json: expected an evasion split.*delete it, and gq measure evasion/);
});
