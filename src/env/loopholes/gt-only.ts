/** No loophole: the evaluation sentence stays as it is, and only a correct program is paid. */
import type { Loophole } from './loophole.ts';

export const gtOnly: Loophole = {
  name: 'gt_only',
  summary: 'none: ground truth alone',
};
