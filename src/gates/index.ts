export {
  type DirectionQuality,
  haarDirection,
  judgeDirection,
  pairDirection,
  type ScoreKind,
  scoreFeatures,
} from './direction.ts';
export { Gate, type GateSettings, type GateState } from './gate.ts';
export { gateStateFrom, gateStateOf, type SavedGate } from './state.ts';
