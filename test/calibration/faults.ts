/** Faults that are planted in the instrument, each with the line of lines.ts that it must turn red: a check that nothing can fail shows nothing. */

import { buildDirection } from '../../src/gates/index.ts';
import { groupAdvantages } from '../../src/grpo/advantage.ts';
import { type Instrument, soundInstrument } from './world.ts';

export interface Fault {
  readonly what: string;
  readonly instrument: Instrument;
  /** How the line begins that it turns red. */
  readonly line: string;
}

export const faults: readonly Fault[] = [
  {
    what: 'advantage: twice what it should be',
    line: 'vanilla grows',
    instrument: {
      ...soundInstrument,
      advantages: (...given) => {
        const { values, skipped } = groupAdvantages(...given);
        return { values: values.map((value) => 2 * value), skipped };
      },
    },
  },
  {
    what: 'advantage: a quarter more than it should be',
    line: 'the first update',
    instrument: {
      ...soundInstrument,
      advantages: (...given) => {
        const { values, skipped } = groupAdvantages(...given);
        return { values: values.map((value) => 1.25 * value), skipped };
      },
    },
  },
  {
    what: 'own mean: what is set apart stays in the mean of the others',
    line: 'own mean, others kept',
    instrument: {
      ...soundInstrument,
      advantages: (rewards, group, kind) => groupAdvantages(rewards, group, kind),
    },
  },
  {
    what: 'label target: attempts in correct programs are not seen',
    line: 'a filter by outcomes',
    instrument: { ...soundInstrument, label: (label) => ({ ...label, attempt: label.exploited }) },
  },
  {
    what: 'placebo: the direction of the pairs in place of every placebo',
    line: 'the reversed direction',
    instrument: {
      ...soundInstrument,
      direction: (hack, clean, options) => buildDirection(hack, clean, { ...options, placebo: 'none' }),
    },
  },
  {
    what: 'placebo: the direction of the pairs in place of a random one',
    line: 'a random direction',
    instrument: {
      ...soundInstrument,
      direction: (hack, clean, { placebo, ...options }) =>
        buildDirection(hack, clean, { ...options, placebo: placebo === 'haar' ? 'none' : placebo }),
    },
  },
];
