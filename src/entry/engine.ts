/** Tensors, the tape, ops and AdamW, and the four devices that compute them. */
export { type CudaOptions, createCudaDevice } from '../engine/cuda/index.ts';
export {
  AdamW,
  type AdamWOptions,
  add,
  attention,
  type Device,
  type DType,
  divide,
  embedding,
  exp,
  linear,
  log,
  logProb,
  matmul,
  meanAll,
  multiply,
  type Parameter,
  readFloats,
  readInts,
  reshape,
  rmsNorm,
  Scope,
  type Shape,
  splitAdapter,
  subtract,
  sum,
  swiglu,
  Tape,
  Tensor,
} from '../engine/index.ts';
export { createReferenceDevice } from '../engine/reference/index.ts';
export { createWasmDevice, type WasmOptions } from '../engine/wasm/index.ts';
export { createWebgpuDevice, type WebgpuOptions } from '../engine/webgpu/index.ts';
