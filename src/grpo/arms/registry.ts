/** The arms of the package that need no labels. The one that needs them is in src/oracle. */
import type { ArmDefinition } from '../arm.ts';
import { ablate } from './ablate.ts';
import { activation, gradient } from './gated.ts';
import { gradientRegularisation } from './gradient-regularisation.ts';
import { inoculationAdapter } from './inoculation-adapter.ts';
import { absorb, noLoophole, vanilla } from './plain.ts';
import { inoculation, recontextualisation } from './prompted.ts';
import { steer } from './steer.ts';

export const blindArms: readonly ArmDefinition[] = [
  vanilla,
  absorb,
  noLoophole,
  activation,
  gradient,
  steer,
  ablate,
  gradientRegularisation,
  inoculationAdapter,
  inoculation,
  recontextualisation,
];
