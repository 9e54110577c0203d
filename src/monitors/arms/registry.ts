/** The arms with a monitor, each by any of the monitors that there are. */
import type { ArmDefinition } from '../../grpo/index.ts';
import type { MonitorDefinition } from '../monitor.ts';
import { advantageModification } from './modify.ts';
import { activationPenalty, penalty, probePenalty, zero } from './penalty.ts';
import { routed } from './routed.ts';
import { filter, screen } from './screen.ts';
import { watchedArm } from './watched-arm.ts';

export function watchedArms(monitors: readonly MonitorDefinition[]): ArmDefinition[] {
  return [
    watchedArm(penalty, monitors),
    watchedArm(zero, monitors),
    watchedArm(probePenalty, monitors),
    watchedArm(activationPenalty, monitors),
    watchedArm(screen, monitors),
    watchedArm(filter, monitors),
    watchedArm(advantageModification, monitors),
    watchedArm(routed, monitors),
  ];
}
