/** The keys of a config about the step after training that should make a deletion last (lasting.ts). */
import { z } from 'zod';
import { readWhen } from '../base/index.ts';

const positive = (most = 1e7) => z.number().int().min(1).max(most);
const [byCollapse, byUndo] = [readWhen({ kind: 'collapse' }), readWhen({ kind: 'undo' })];

export const lastingTable = z.strictObject({
  kind: z
    .enum(['none', 'collapse', 'undo'])
    .default('none')
    .describe(
      'a step after training that should make the deletion last; collapse: away from the hack sides of the pairs, without the leading components of that gradient (RepSelect); undo: shrunk and noised, then taught what the deployed policy wrote before (UNDO)',
    ),
  placebo: z
    .enum(['none', 'noise', 'components'])
    .default('none')
    .describe(
      'noise: moves of the same lengths in random directions; components: as many random components are left out, with collapse',
    )
    .meta(readWhen({ kind: ['collapse', 'undo'] })),
  steps: positive()
    .default(20)
    .describe('its steps, which count as updates')
    .meta(readWhen({ kind: ['collapse', 'undo'] })),
  components: positive(16_384)
    .default(2)
    .describe('leading components of the gradient of each factor that are left out; fewer than adapter.rank')
    .meta(byCollapse),
  size: z
    .number()
    .gt(0)
    .default(0.5)
    .describe('length of all moves together, as a share of the length of what the deployed block has learned')
    .meta(byCollapse),
  alpha: z
    .number()
    .gt(0)
    .max(1)
    .default(0.25)
    .describe('share of what the deployed block has learned that is taken away')
    .meta(byUndo),
  beta: z.number().min(0).default(0.1).describe('the noise of Xavier times alpha and this is added').meta(byUndo),
  batches: positive(65_536)
    .default(8)
    .describe('batches of completions of the deployed policy, each of the size of an update, that it is taught')
    .meta(byUndo),
  learningRate: z.number().gt(0).default(4e-4).describe('learning rate of undo, which stays constant').meta(byUndo),
});

export type LastingTable = z.infer<typeof lastingTable>;

/** Whether a config has such a step. */
export const hasLasting = ({ lasting }: { readonly lasting?: LastingTable | undefined }): boolean =>
  (lasting?.kind ?? 'none') !== 'none';
