/** The arms without a gate: they have no hooks and differ in what is deployed and in what the grader pays for. */
import { z } from 'zod';
import { type Arm, type ArmDefinition, defineArm, seesNothing } from '../arm.ts';

const nothing = z.strictObject({});
const open = (): Arm => ({ sees: seesNothing });

export const vanilla: ArmDefinition = defineArm({
  kind: 'vanilla',
  summary: 'no mask; everything that is trained is deployed',
  quarantine: false,
  settings: nothing,
  uses: [],
  open,
});

export const absorb: ArmDefinition = defineArm({
  kind: 'absorb',
  summary: 'every rollout trains both blocks',
  settings: nothing,
  uses: [],
  open,
});

export const noLoophole: ArmDefinition = defineArm({
  kind: 'no-loophole',
  summary: 'ground truth only: the ceiling',
  quarantine: false,
  loopholes: 'closed',
  settings: nothing,
  uses: [],
  open,
});
