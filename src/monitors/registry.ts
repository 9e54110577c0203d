/** The monitors of the package that are never given labels of the run that they watch. The one by label is in src/oracle. */
import { chanceMonitor } from './chance.ts';
import { directionMonitor } from './direction.ts';
import { textJudgeMonitor } from './judge/judge.ts';
import type { MonitorDefinition } from './monitor.ts';
import { probeMonitor } from './probe.ts';
import { regexMonitor } from './regex.ts';

export const blindMonitors: readonly MonitorDefinition[] = [
  directionMonitor,
  probeMonitor,
  regexMonitor,
  textJudgeMonitor,
  chanceMonitor,
];
