/** The `webgpu` device: any GPU through WebGPU, in a browser or in Node with the package webgpu. Float32; kernels are WGSL. */
import { DeviceError } from '../../base/index.ts';
import { webgpuAttentionKernels } from './attention.ts';
import { WebgpuDevice } from './device.ts';
import { webgpuElementwiseKernels } from './elementwise.ts';
import { describeAdapter, findAdapter } from './find.ts';
import { bufferUse, type GpuAdapter, type GpuBuffer, type GpuDevice } from './interface.ts';
import { webgpuLayerKernels } from './layers.ts';
import { webgpuMatmulKernels } from './matmul.ts';
import { KernelQueue } from './queue.ts';
import { webgpuSumKernels } from './reduce.ts';
import { webgpuSampleKernels } from './sample.ts';

export type { WebgpuDevice } from './device.ts';
export { inspectWebgpu } from './find.ts';

export interface WebgpuOptions {
  /** Memory to take at once, for all tensors; default 512 MiB, or the most that the GPU binds as one piece. */
  readonly arenaBytes?: number;
}

const defaultBytes = 2 ** 29;

export async function createWebgpuDevice({ arenaBytes }: WebgpuOptions = {}): Promise<WebgpuDevice> {
  const adapter = await findAdapter();
  const slabBytes = planMemory(adapter, arenaBytes);
  const gpu = await adapter.requestDevice({
    requiredLimits: { maxBufferSize: slabBytes, maxStorageBufferBindingSize: slabBytes },
  });
  const slab = await allocate(gpu, slabBytes);
  const queue = new KernelQueue(gpu, slab);
  const home = (): WebgpuDevice => device;
  const kernels = {
    ...webgpuElementwiseKernels(queue),
    ...webgpuSumKernels(queue, home),
    ...webgpuLayerKernels(queue),
    ...webgpuMatmulKernels(queue, home),
    ...webgpuAttentionKernels(queue),
    ...webgpuSampleKernels(queue),
  };
  const device: WebgpuDevice = new WebgpuDevice({
    ...{ gpu, queue, slab, slabBytes, kernels },
    adapter: describeAdapter(adapter),
  });
  return device;
}

function planMemory({ limits }: GpuAdapter, asked: number | undefined): number {
  const most = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  const bytes = Math.floor((asked ?? Math.min(defaultBytes, most)) / 256) * 256;
  if (bytes > 0 && bytes <= most) return bytes;
  throw new DeviceError({
    call: 'createWebgpuDevice',
    expected: `arenaBytes from 256 to the ${most} that this GPU binds as one piece`,
    found: `${asked}`,
    fix: 'Lower device.arenaMiB.',
  });
}

async function allocate(gpu: GpuDevice, size: number): Promise<GpuBuffer> {
  gpu.pushErrorScope('out-of-memory');
  const usage = bufferUse.storage | bufferUse.copySource | bufferUse.copyTarget;
  const slab = gpu.createBuffer({ label: 'slab', size, usage });
  const refusal = await gpu.popErrorScope();
  if (refusal === null) return slab;
  throw new DeviceError({
    call: 'createWebgpuDevice',
    expected: `${size} bytes of the GPU's memory`,
    found: refusal.message,
    fix: 'Lower device.arenaMiB, or close other programs that use the GPU.',
  });
}
