export { type BufferState, FeatureBuffer } from './buffer.ts';
export {
  type Direction,
  type DirectionQuality,
  haarDirection,
  judgeDirection,
  pairDirection,
  type ScoreKind,
  scoreFeatures,
} from './direction.ts';
export { Gate, type GateDecision, type GateSettings, type GateState, routeOf } from './gate.ts';
