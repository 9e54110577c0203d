/** The micro problems: generated chains of small steps. */
import { z } from 'zod';
import { generateMicroProblems, microSplitSizes } from '../micro/problems.ts';
import { defineProblemSource, type ProblemSource } from './source.ts';
import { assertDisjoint, type Split } from './splits.ts';

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
    return assertDisjoint({
      train: draw('train', problems),
      validation: draw('validation', microSplitSizes.validation),
      test: draw('test', microSplitSizes.test),
    });
  },
});
