/** The `reference` device: plain loops, float64 sums, float32 storage. It is the definition of correct, not of fast. */
import { Arena } from '../arena.ts';
import type { Device } from '../device.ts';
import { readSlab, writeSlab } from '../transfer.ts';
import { referenceAttentionKernels } from './attention.ts';
import { referenceElementwiseKernels } from './elementwise.ts';
import { referenceJointKernels } from './joint.ts';
import { referenceLayerKernels } from './layers.ts';
import { referenceMatmulKernels } from './matmul.ts';
import { Slab } from './memory.ts';

export interface ReferenceOptions {
  readonly arenaBytes?: number;
}

export function createReferenceDevice({ arenaBytes = 2 ** 26 }: ReferenceOptions = {}): Device {
  const arena = new Arena('reference', arenaBytes);
  const slab = new Slab(arenaBytes);
  return {
    name: 'reference',
    arena,
    floats: ['f32'],
    independentRows: Number.POSITIVE_INFINITY,
    kernels: {
      ...referenceElementwiseKernels(slab),
      ...referenceMatmulKernels(slab),
      ...referenceAttentionKernels(slab),
      ...referenceLayerKernels(slab),
      ...referenceJointKernels(slab),
    },
    write: (target, data) => writeSlab(slab.buffer, arena, target, data),
    read: async (source) => readSlab(slab.buffer, arena, source),
    freeze() {},
    release: (tensor) => arena.free(tensor.offset),
    repeat: (_key, body) => body(),
    sync: async () => {},
    [Symbol.dispose]() {},
  };
}
