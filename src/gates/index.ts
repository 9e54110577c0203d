export { type Cuts, otsuSplit } from './calibration.ts';
export {
  buildDirection,
  type Direction,
  type DirectionOptions,
  type DirectionQuality,
  directionPlacebos,
  haarDirection,
  judgeDirection,
  pairDirection,
  type ScoreKind,
  scoreFeatures,
  scoreRows,
} from './direction.ts';
export { type CondensedRows, Gate, type GateSettings, routeOf } from './gate.ts';
export { mixtureSplit } from './mixture.ts';
export { gateStateFrom, gateStateOf } from './state.ts';
