/** antipasto: the CorDA basis itself, V and U diag(S), which stays frozen under learned gains and a rotation. */
import { contrastiveBasis, interleave } from './from-basis.ts';
import { defineStart } from './start.ts';

export const antipasto = defineStart({
  name: 'antipasto',
  summary: 'a frozen corda basis with bounded gains and a rotation of the quarantine',
  needsPairs: true,
  needsWeight: true,
  parametrisation: 'antipasto',
  cacheVersion: 1,
  factors: async (input, svd) => {
    const { basis } = await contrastiveBasis('antipasto', input, svd);
    return interleave(basis, input.rank, 0);
  },
});
