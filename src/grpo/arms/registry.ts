/** The arms of the package that watch nothing. Those that do are made of a monitor, a cut and a remedy, in src/monitors. */
import type { ArmDefinition } from '../arm.ts';
import { ablate } from './ablate.ts';
import { earlyStop } from './early-stop.ts';
import { gradientRegularisation } from './gradient-regularisation.ts';
import { inoculationAdapter } from './inoculation-adapter.ts';
import { absorb, noLoophole, vanilla } from './plain.ts';
import { project } from './project.ts';
import { inoculation, recontextualisation } from './prompted.ts';
import { steer } from './steer.ts';

export const blindArms: readonly ArmDefinition[] = [
  vanilla,
  absorb,
  noLoophole,
  steer,
  ablate,
  gradientRegularisation,
  inoculationAdapter,
  project,
  earlyStop,
  inoculation,
  recontextualisation,
];
