export { replaceFile, syncDirectory, writeFileAtomic } from './atomic-file.ts';
export { cacheFolder } from './cache-folder.ts';
export { categorical, cumulate, drawFromCumulative } from './categorical.ts';
export { type Complaint, DeviceError, GraderError, ShapeError, UserError } from './errors.ts';
export { followJsonl, type JsonlFollower, type JsonlGrowth } from './follow-jsonl.ts';
export {
  bfloat16ToFloat,
  float16ToFloat,
  floatToBfloat16,
  floatToFloat16,
  type HalfKind,
  narrowFloats,
  widenHalves,
} from './half.ts';
export { canonicalJson, sha256, sha256File, sha256Json } from './hash.ts';
export { JsonlWriter, type JsonlWriterOptions, readJsonl } from './jsonl.ts';
export { murmur3 } from './murmur3.ts';
export { editDistance, nearestName } from './nearest.ts';
export { type PhiloxCounter, type PhiloxKey, philox, philoxInto } from './philox.ts';
export { mapPool, type PoolWork } from './pool.ts';
export { type RandomName, RandomStream, randomKind, randomStream } from './rng.ts';
export { readVersion } from './version.ts';
