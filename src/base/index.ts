/** Errors, random streams, number formats, bounded work: nothing that needs more than the language. */
export { categorical, cumulate, drawFromCumulative } from './categorical.ts';
export {
  type Complaint,
  DeviceError,
  explainForeign,
  GraderError,
  isAbort,
  OutOfMemoryError,
  ShapeError,
  UserError,
} from './errors.ts';
export { exitCodes, stopSignals } from './exit-codes.ts';
export {
  bfloat16ToFloat,
  float16ToFloat,
  floatToBfloat16,
  floatToFloat16,
  type HalfKind,
  narrowFloats,
  widenHalves,
} from './half.ts';
export { murmur3 } from './murmur3.ts';
export { editDistance, nearestName } from './nearest.ts';
export { type PhiloxCounter, type PhiloxKey, philox, philoxInto } from './philox.ts';
export { mapPool, type PoolWork } from './pool.ts';
export { type Condition, readWhen } from './read-when.ts';
export { type RandomName, RandomStream, randomKind, randomStream } from './rng.ts';
export { shellLine } from './shell.ts';
export { cutText, padText, textWidth, visible, visibleLine, wrapText } from './text.ts';
