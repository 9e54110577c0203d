/** The arms of the package that need no labels. One that does lives across the oracle wall. */
import type { ArmDefinition } from '../arm.ts';
import { activation, gradient } from './gated.ts';
import { absorb, noLoophole, vanilla } from './plain.ts';

export const blindArms: readonly ArmDefinition[] = [vanilla, absorb, noLoophole, activation, gradient];
