import { describe, expect, it } from 'vitest';
import { type HandMadeRun, temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { verifyRunProvenance } from './provenance.ts';

async function featuresFit(made: HandMadeRun): Promise<boolean | undefined> {
  const run = await writeRun(temporaryFolder(), made);
  const checks = await verifyRunProvenance(run, run.readManifest().identity, { pairsUseLabels: false });
  return checks.find(({ quantity }) => quantity === 'rows of features')?.pass;
}

describe('the rows of features of a run', () => {
  const row = (featureRow: number | null, featureRows: number | null) => ({ update: 1, featureRow, featureRows });
  const features = [[1, 2], [3, 4], [5, 6]]; // biome-ignore format: one line

  it.each([
    { what: 'one a rollout', rollouts: [row(0, 1), row(1, 1), row(null, null), row(2, 1)], fits: true },
    { what: 'of a gate by token, some a rollout', rollouts: [row(0, 2), row(2, 1)], fits: true },
    { what: 'that are too few', rollouts: [row(0, 2), row(2, 2)], fits: false },
    { what: 'that are too many', rollouts: [row(0, 2)], fits: false },
  ])('$what', async ({ rollouts, fits }) => {
    expect(await featuresFit({ rollouts, features })).toBe(fits);
  });
});
