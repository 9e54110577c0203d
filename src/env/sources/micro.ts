/** The micro problems: generated chains of small steps. */
import { z } from 'zod';
import { generateMicroProblems, type MicroProblem, microSplitSizes } from '../micro/problems.ts';
import { defineProblemSource, type ProblemSource } from './source.ts';
import { assertDisjoint, type Split } from './splits.ts';

/** Held-out problems by how they were drawn: few chains are held out, so that drawing them takes longest, and every run has the same. */
const heldOut = new Map<string, readonly MicroProblem[]>();

export const microSource: ProblemSource = defineProblemSource({
  kind: 'micro',
  summary: 'generated chain-of-steps problems',
  settings: z.strictObject({
    problems: z.number().int().min(1).max(100_000).default(512).describe('number of training problems'),
    hardShare: z
      .number()
      .min(0)
      .max(1)
      .default(0.4)
      .describe('share of constants given as a product that the model cannot compute: the difficulty'),
    seed: z.number().int().min(0).default(1).describe('seed of the problem generator'),
  }),
  pairs: 'micro',
  asksInWords: false,
  isSound: true,
  load({ problems, hardShare, seed }) {
    const chain = { leastSteps: 2, mostSteps: 4, productFraction: hardShare };
    const draw = (split: Split, count: number) => generateMicroProblems({ seed, split, count, chain });
    const drawHeldOut = (split: 'validation' | 'test') => {
      const key = `${split} ${seed} ${hardShare}`;
      const drawn = heldOut.get(key) ?? draw(split, microSplitSizes[split]);
      heldOut.set(key, drawn);
      return drawn;
    };
    return assertDisjoint({
      train: draw('train', problems),
      validation: drawHeldOut('validation'),
      test: drawHeldOut('test'),
    });
  },
});
