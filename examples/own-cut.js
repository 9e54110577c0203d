/**
 * A cut of one's own: what lies far above the middle of the run's last scores is flagged, far in units of their usual distance from it. It
 * goes with every monitor whose scores can be calibrated, and with every remedy.
 */
import { defineCut, z } from 'gradient-quarantine';

const middleOf = (values) => values.toSorted()[Math.floor(values.length / 2)];

const outliers = defineCut({
  kind: 'outliers',
  summary: "a number of usual distances above the middle of the run's last scores",
  needs: 'scores',
  settings: z.strictObject({
    distances: z.number().gt(0).default(3).describe('how many usual distances above the middle the cut lies'),
  }),
  words: ({ distances }) => `outliers ${distances}`,
  find: ({ distances }, { scores }) => {
    if (scores.length < 8) return null;
    const middle = middleOf(scores);
    return { high: middle + distances * middleOf(scores.map((score) => Math.abs(score - middle))) };
  },
});

export const cuts = [outliers];
