export type { Cuts } from './calibration.ts';
export {
  buildDirection,
  type Direction,
  type DirectionOptions,
  type DirectionQuality,
  haarDirection,
  judgeDirection,
  pairDirection,
  type ScoreKind,
  scoreFeatures,
  scoreRows,
} from './direction.ts';
export { type CondensedRows, Gate, type GateSettings, routeOf } from './gate.ts';
