/** The arms of the package that need no labels. The one that needs them is in src/oracle. */
import type { ArmDefinition } from '../arm.ts';
import { activation, gradient } from './gated.ts';
import { absorb, noLoophole, vanilla } from './plain.ts';
import { inoculation, recontextualisation } from './prompted.ts';

export const blindArms: readonly ArmDefinition[] = [
  vanilla,
  absorb,
  noLoophole,
  activation,
  gradient,
  inoculation,
  recontextualisation,
];
