export { Arena } from './arena.ts';
export { CountingDevice } from './counting.ts';
export type { Device } from './device.ts';
export {
  type AdamWOptions,
  type BinaryKind,
  type Kernels,
  type LaneProduct,
  type MatmulOptions,
  momentsOf,
  type SampleOptions,
  type Stepped,
  type UnaryKind,
} from './kernels.ts';
export { attention } from './ops/attention.ts';
export {
  add,
  affine,
  clamp,
  divide,
  exp,
  log,
  maximum,
  minimum,
  multiply,
  reciprocal,
  reshape,
  sqrt,
  square,
  subtract,
  tanh,
} from './ops/elementwise.ts';
export { embedding, tokenIds } from './ops/embedding.ts';
export { type JointBlocks, jointFits, jointLinears, jointNorm, jointSwiglu, jointTurn, type Sum } from './ops/joint.ts';
export { type AdapterLane, laneLinears, type ProbedAdapter } from './ops/lane-adapter.ts';
export { logProb, nextLogits } from './ops/log-prob.ts';
export { invert, type LinearWeights, linear, linears, matmul, type Transposes } from './ops/matmul.ts';
export { rmsNorm } from './ops/normalise.ts';
export { meanAll, sum, sumFirst, sumLast } from './ops/reduce.ts';
export { inverseFrequencies, type Llama3Scaling, normRotary, rotary, rotaryTable } from './ops/rotary.ts';
export { concatRows, divideRows } from './ops/rows.ts';
export {
  type AdaptedLayer,
  adaptedLinear,
  adaptedLinears,
  type BlockCoefficients,
  type BottleneckProbe,
  type SplitAdapter,
  splitAdapter,
} from './ops/split-adapter.ts';
export { type Heads, type Store, type Turns, turnHeads } from './ops/store.ts';
export { swiglu } from './ops/swiglu.ts';
export { AdamW, type Parameter, type StepOptions, sumSquaresOf } from './optimiser.ts';
export { sampleRows } from './sampling.ts';
export { linearWarmup, warmupCosine } from './schedule.ts';
export { Scope } from './scope.ts';
export { type Segment, Segments, segmentColumns } from './segments.ts';
export { type SharedRows, Tape, type TapeOptions } from './tape.ts';
export { bytesOf, type DType, describeTensor, type HostArray, type Shape, sizeOf, Tensor } from './tensor.ts';
export { readFloats, readInts, readSlab, writeSlab } from './transfer.ts';
