/** All kernels of the wasm device. */
import type { Kernels } from '../kernels.ts';
import { attentionKernels } from './attention.ts';
import { decodeKernels } from './decode.ts';
import { elementwiseKernels, reductionKernels } from './elementwise.ts';
import type { Jobs } from './jobs.ts';
import { layerKernels, optimiserKernels, rowKernels } from './layers.ts';
import type { Matmul } from './matmul.ts';
import type { WasmMemory } from './webassembly.ts';

export function wasmKernels(jobs: Jobs, matmul: Matmul, memory: WasmMemory): Kernels {
  return {
    ...elementwiseKernels(jobs),
    ...reductionKernels(jobs),
    ...rowKernels(jobs),
    ...layerKernels(jobs),
    ...optimiserKernels(jobs),
    ...attentionKernels(jobs),
    ...decodeKernels(memory),
    matmul: (out, a, b, options) => matmul.run(out, a, b, options),
    matmulOnto: (out, addend, a, b, options) => matmul.runOnto(out, addend, a, b, options),
    products: (outs, x, weights) => matmul.runTogether(outs, x, weights),
  };
}
