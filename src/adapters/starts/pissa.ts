/** pissa: the top-2R SVD of W, singular values shared evenly; even ranks are deployed, odd ranks quarantine. */
import { interleave, weightMatrix } from './from-basis.ts';
import { defineStart } from './start.ts';

export const pissa = defineStart({
  name: 'pissa',
  summary: 'the leading singular directions of the weight',
  needsPairs: false,
  needsWeight: true,
  parametrisation: 'linear',
  cacheVersion: 1,
  factors: async (input, svd) => {
    const basis = await svd(weightMatrix('pissa', input), 2 * input.rank);
    return interleave(basis, input.rank, 0.5);
  },
});
