/** corda: the top-2R SVD of W C^½, C being the contrastive input covariance of the pairs, taken back through C^½. */
import { contrastiveBasis, interleave } from './from-basis.ts';
import { defineStart } from './start.ts';

export const corda = defineStart({
  name: 'corda',
  summary: 'the directions of the weight that the contrastive pairs excite',
  needsPairs: true,
  needsWeight: true,
  parametrisation: 'linear',
  cacheVersion: 1,
  factors: async (input, svd) => {
    const { basis } = await contrastiveBasis('corda', input, svd);
    return interleave(basis, input.rank, 0.5);
  },
});
