/** The parts of the package for arms that watch. The monitor by label is in src/oracle. */
import { chanceMonitor } from './chance.ts';
import { directionMonitor } from './direction.ts';
import { fingerprintMonitor } from './fingerprint.ts';
import { textJudgeMonitor } from './judge/judge.ts';
import type { MonitorDefinition } from './monitor.ts';
import { probeMonitor } from './probe.ts';
import { regexMonitor } from './regex.ts';
import { advantageModification } from './remedies/modify.ts';
import { activationPenalty, penalty, probePenalty, zero } from './remedies/penalty.ts';
import { routeRemedy } from './remedies/route.ts';
import { filter, screen } from './remedies/screen.ts';
import type { RemedyDefinition } from './remedy.ts';
import { untrustedMonitor } from './untrusted.ts';

export const blindMonitors: readonly MonitorDefinition[] = [
  directionMonitor,
  probeMonitor,
  fingerprintMonitor,
  regexMonitor,
  textJudgeMonitor,
  chanceMonitor,
  untrustedMonitor,
];

export const builtinRemedies: readonly RemedyDefinition[] = [
  penalty,
  zero,
  probePenalty,
  activationPenalty,
  screen,
  filter,
  advantageModification,
  routeRemedy,
];
