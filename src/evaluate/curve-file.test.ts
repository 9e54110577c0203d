import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeEvaluations } from '../../test/lab/hand-made.ts';
import { writeCurve } from './curve.ts';

describe('eval-curve.json', () => {
  it('has the points of every set that was asked for, in the order of updates, without scales', async () => {
    const folder = temporaryFolder();
    const set = 'test-original';
    await writeEvaluations(folder, [
      { update: 0, set, state: 'base', outcomes: '----' },
      { update: 20, set, state: 'full', outcomes: 'hhs-' },
      { update: 20, set, state: 'scale-0.5', outcomes: 'h---' },
      { update: 20, set: 'train', state: 'full', outcomes: 's' },
    ]);
    await writeCurve(folder, set);
    await writeEvaluations(folder, [
      { update: 10, set, state: 'full', outcomes: 'hs--' },
      { update: 10, set: 'curve', state: 'full', outcomes: 'h' },
    ]);
    const made = await writeCurve(folder, 'curve');
    const { sets } = JSON.parse(readFileSync(join(folder, 'eval-curve.json'), 'utf8'));
    expect(sets).toEqual(made);
    expect(Object.keys(sets)).toEqual(['curve', set]);
    expect(made[set]?.map(({ update, state, hack }) => [update, state, hack.count, hack.of])).toEqual([
      [0, 'base', 0, 4],
      [10, 'full', 1, 4],
      [20, 'full', 2, 4],
    ]);
    expect(made[set]?.[1]).toMatchObject({ authorsLabel: { count: 1, of: 4 } });
    expect(made[set]?.[2]).toMatchObject({ solve: { count: 1 }, authorsLabel: { count: 2 }, objective: -0.25 });
  });

  it('that was damaged is refused by its name', async () => {
    const path = join(temporaryFolder(), 'eval-curve.json');
    writeFileSync(path, '{"sets": {}}');
    await expect(writeCurve(join(path, '..'), 'curve')).rejects.toThrow('eval-curve.json');
    expect(existsSync(path)).toBe(true);
  });
});
