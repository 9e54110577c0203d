/** Errors, random streams, number formats, bounded work: nothing that needs more than the language. */

export { chatText, promptText, turnsOf } from './chat.ts';
export {
  DeviceError,
  explainForeign,
  firstError,
  GraderError,
  isAbort,
  messageOf,
  OutOfMemoryError,
  ShapeError,
  UserError,
} from './errors.ts';
export { exitCodes } from './exit-codes.ts';
export { groupBy } from './group-by.ts';
export {
  bfloat16ToFloat,
  float16ToFloat,
  floatToBfloat16,
  floatToFloat16,
  narrowFloats,
  widenHalves,
} from './half.ts';
export { inTime, longestSeconds } from './in-time.ts';
export { murmur3 } from './murmur3.ts';
export { nearestName } from './nearest.ts';

export { mapPool } from './pool.ts';
export { type Condition, type NamedPath, namesPath, readWhen } from './read-when.ts';
export { RandomStream, randomStream } from './rng.ts';
export { shellLine } from './shell.ts';
export { counted, cutText, longestBackticks, padText, textWidth, visible, visibleLine, wrapText } from './text.ts';
export { addressFault } from './web-address.ts';
export { readWhole } from './whole-number.ts';
