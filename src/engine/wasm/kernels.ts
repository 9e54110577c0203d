/** All kernels of the wasm device. */
import type { Kernels } from '../kernels.ts';
import { wasmAttentionKernels } from './attention.ts';
import { decodeKernels } from './decode.ts';
import { reductionKernels, wasmElementwiseKernels } from './elementwise.ts';
import type { FrozenLayouts } from './frozen.ts';
import type { Jobs } from './jobs.ts';
import { optimiserKernels, wasmLayerKernels, wasmRowKernels } from './layers.ts';
import { Matmul } from './matmul.ts';
import type { WasmMemory } from './webassembly.ts';

/** Kernels by which tensors are changed in place: each refuses one that is promised not to change. */
function changingKernels(jobs: Jobs, frozen: FrozenLayouts): ReturnType<typeof wasmElementwiseKernels> {
  const kernels = wasmElementwiseKernels(jobs);
  return {
    ...kernels,
    fill(out, value) {
      frozen.expectChangeable('fill', out);
      kernels.fill(out, value);
    },
    copy(out, input) {
      frozen.expectChangeable('copy', out);
      kernels.copy(out, input);
    },
    affine(out, x, scale, shift) {
      frozen.expectChangeable('affine', out);
      kernels.affine(out, x, scale, shift);
    },
    add(out, x) {
      frozen.expectChangeable('add', out);
      kernels.add(out, x);
    },
    binary(kind, out, a, b) {
      frozen.expectChangeable(kind, out);
      kernels.binary(kind, out, a, b);
    },
  };
}

export function wasmKernels(jobs: Jobs, frozen: FrozenLayouts, memory: WasmMemory): Kernels {
  const matmul = new Matmul(jobs, frozen);
  return {
    ...changingKernels(jobs, frozen),
    ...reductionKernels(jobs),
    ...wasmRowKernels(jobs),
    ...wasmLayerKernels(jobs),
    ...optimiserKernels(jobs, frozen),
    ...wasmAttentionKernels(jobs),
    ...decodeKernels(jobs, memory),
    matmul: (out, a, b, options) => matmul.run(out, a, b, options),
    matmulOnto: (out, addend, a, b, options) => matmul.runOnto(out, addend, a, b, options),
    products: (outs, x, weights) => matmul.runTogether(outs, x, weights),
    adaptedProducts: (outs, hs, onto, x, weights, downs, ups, coefficients, rank) =>
      matmul.runAdapted({ outs, hs, onto, x, weights, downs, ups, coefficients, rank }),
  };
}
