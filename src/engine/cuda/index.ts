/**
 * The `cuda` device: an NVIDIA GPU through the driver's own library, kernels compiled at run time. Precision bf16 is for speed:
 * bf16 activations and weights, float32 sums and statistics. f32 is for parity with the other devices: float32 throughout.
 */
import { DeviceError } from '../../base/index.ts';
import { cacheFolder } from '../../base/node/index.ts';
import type { Device } from '../device.ts';
import type { Kernels } from '../kernels.ts';
import { adaptedKernels } from './adapted.ts';
import { Aside } from './aside.ts';
import { cudaAttentionKernels } from './attention.ts';
import { Blas } from './blas.ts';
import { Compiler } from './compiler.ts';
import { CudaDevice, type Precision } from './device.ts';
import { Driver } from './driver.ts';
import { cudaElementwiseKernels, laneStepKernels } from './elementwise.ts';
import { Gpu } from './gpu.ts';
import { Graphs } from './graphs.ts';
import { jointKernels } from './joint.ts';
import { importKoffi, libraryFolders, loadLibrary } from './libraries.ts';
import { cudaMatmulKernels, laneKernels } from './matmul.ts';
import { productKernels } from './products.ts';
import { Queue } from './queue.ts';
import { Readback } from './readback.ts';
import { cudaRowKernels, laneSumKernels, lossKernels, normKernels, sumKernels } from './reduce.ts';

export { CudaDevice, type Precision } from './device.ts';
export { type CudaReport, inspectCuda } from './inspect.ts';
export { warmGpu } from './warm-up.ts';

export interface CudaOptions {
  /** Float of activations and weights; default 'bf16'. */
  readonly precision?: Precision;
  /** Memory to take at once, for everything; default: nine tenths of what is free. */
  readonly memoryBytes?: number;
  /** Number of the GPU; default 0. */
  readonly ordinal?: number;
  /** Folder in which libcuda, libnvrtc and libcublasLt are looked for first. */
  readonly libraries?: string;
  /** Whether runs compute together (`Device.lanes`), which is right for small models. Default: no. */
  readonly lanes?: boolean;
  /** Folder in which compiled kernels are kept; default: the user's cache folder. */
  readonly cacheFolder?: string;
}

const workspaceBytes = 64 * 2 ** 20;
/** For the second stream, whose products are small. */
const asideBytes = 16 * 2 ** 20;
const leastBytes = 2 * workspaceBytes;
const leastCapability = 80;
const freeShare = 0.9;

export async function createCudaDevice(options: CudaOptions = {}): Promise<CudaDevice> {
  const { precision = 'bf16', ordinal = 0, lanes = false } = options;
  const koffi = await importKoffi();
  const folders = libraryFolders(options.libraries, process.env);
  const driver = new Driver(loadLibrary(koffi, 'libcuda', folders));
  const [compilerLibrary, blasLibrary] = [
    loadLibrary(koffi, 'libnvrtc', folders),
    loadLibrary(koffi, 'libcublasLt', folders),
  ];
  const gpu = new Gpu(driver, ordinal);
  if (gpu.facts.capability < leastCapability) refuseGpu(gpu);
  const slabBytes = planMemory(gpu, options.memoryBytes);
  const slab = Number(driver.get<number>('cuMemAlloc', `${slabBytes} bytes`, slabBytes));
  const compiler = new Compiler(compilerLibrary, gpu.facts.capability, options.cacheFolder ?? cacheFolder('cuda'));
  const queue = new Queue(koffi, gpu, compiler, slab);
  const blas = new Blas(blasLibrary, gpu.stream, { address: slab, bytes: workspaceBytes });
  const aside = new Aside(queue, blasLibrary, { address: slab + workspaceBytes, bytes: asideBytes });
  const graphs = new Graphs(gpu);
  const readback = new Readback(koffi, gpu);
  const kernels = joinKernels(queue, blas, aside, () => device, lanes);
  const parts = [graphs, aside, blas, queue, readback];
  const device: CudaDevice = new CudaDevice({
    ...{ gpu, queue, graphs, readback, kernels, precision, lanes, slab, slabBytes, parts },
    reservedBytes: workspaceBytes + asideBytes,
  });
  return device;
}

/** `home` is the device itself: kernels take scratch memory from its arena, and give it back once what uses it is queued. */
function joinKernels(queue: Queue, blas: Blas, aside: Aside, home: () => Device, lanes: boolean): Kernels {
  return {
    ...cudaElementwiseKernels(queue),
    ...sumKernels(queue, home),
    ...cudaRowKernels(queue),
    ...normKernels(queue, home, lanes),
    ...lossKernels(queue),
    ...cudaMatmulKernels(queue, blas, home, lanes),
    ...cudaAttentionKernels(queue, home, lanes),
    ...(lanes
      ? { ...laneKernels(queue, home), ...laneSumKernels(queue, home), ...laneStepKernels(queue) }
      : {
          ...productKernels(queue, blas, home),
          ...adaptedKernels(queue, blas, home),
          ...jointKernels(queue, blas, aside),
        }),
  };
}

function planMemory(gpu: Gpu, asked: number | undefined): number {
  const free = gpu.freeBytes;
  const bytes = asked ?? Math.floor(free * freeShare);
  if (Number.isSafeInteger(bytes) && bytes >= leastBytes && bytes <= free) return bytes;
  throw new DeviceError({
    call: 'createCudaDevice',
    expected: `memoryBytes from ${leastBytes} to the ${free} that are free on ${gpu.facts.name}`,
    found: `${bytes}`,
    fix: 'Lower memoryBytes, or close other programs that use the GPU.',
  });
}

function refuseGpu({ facts }: Gpu): never {
  throw new DeviceError({
    call: 'createCudaDevice',
    expected: 'a GPU of compute capability 8.0 or later (Ampere, 2020)',
    found: `${facts.name} of ${facts.capability / 10}`,
    fix: 'Use the wasm device on this machine.',
  });
}
