export { type Cuts, otsuSplit } from './calibration.ts';
export {
  buildDirection,
  type Direction,
  type DirectionOptions,
  type DirectionQuality,
  directionPlacebos,
  haarDirection,
  judgeDirection,
  type PairDirectionOptions,
  pairDirection,
  type ScoreKind,
  scoreFeatures,
  scoreRows,
} from './direction.ts';
export { type CondensedRows, Gate, type GateSettings, type GateState, routeOf } from './gate.ts';
export { gateStateFrom, gateStateOf, type SavedGate } from './state.ts';
