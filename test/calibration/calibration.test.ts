/** The quicker of the planted faults of `npm run check:calibration`, with the lines that they turn red, which hold without them. */
import { describe, expect, it } from 'vitest';
import { faults } from './faults.ts';
import { calibrationLines } from './lines.ts';
import { soundInstrument } from './world.ts';

const lines = ['vanilla grows', 'the first update', 'own mean, others kept', 'a random direction'];
const quick = faults.filter(({ line }) => lines.includes(line));

describe('in a world whose answer is known', () => {
  it('every line that is named here has a fault', () => {
    expect([...new Set(quick.map(({ line }) => line))].sort()).toEqual([...lines].sort());
  });

  it.each(quick)('$what', async ({ line, instrument }) => {
    const aimed = calibrationLines.find(({ what }) => what.startsWith(line));
    expect(aimed).toBeDefined();
    expect(await aimed?.measure(soundInstrument)).toMatchObject({ holds: true });
    expect(await aimed?.measure(instrument)).toMatchObject({ holds: false });
  });
});
