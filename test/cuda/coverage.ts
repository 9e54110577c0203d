/** Which kernels a run of the checks has not launched: every kernel of the sources must have been compared with something. */
import { kernelFiles, readKernelSource } from '../../src/engine/cuda/compiler.ts';
import type { CudaDevice } from '../../src/engine/cuda/index.ts';
import type { Check } from '../device/suite.ts';

/** Kernels for GPUs of another kind than Hopper, and for Hopper alone. */
const elsewhere = ['matmul blockProduct'];
const hopperFiles = ['hopper', 'change'];
const hopper = 90;

export function compareCoverage(devices: readonly CudaDevice[]): Check[] {
  const launched = new Set(devices.flatMap((device) => device.launched));
  const onHopper = devices[0].facts.capability === hopper;
  return kernelFiles.flatMap((file) =>
    kernelNames(readKernelSource(file))
      .filter((name) => (onHopper ? !elsewhere.includes(`${file} ${name}`) : !hopperFiles.includes(file)))
      .map((name) => {
        const missing = launched.has(`${file} ${name}`) ? 0 : 1;
        const bounds = { maxAbs: missing, maxRel: missing, bound: 0, pass: missing === 0 };
        return { case: `${file}.cu`, quantity: `${name} was launched`, ...bounds };
      }),
  );
}

/** Declared plainly, or by one of the macros that make a kernel for each type or transposition. */
function kernelNames(source: string): string[] {
  const plain = source.matchAll(/^extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(/gm);
  const made = source.matchAll(/^(?:CONVERT|MATMUL)\((\w+),/gm);
  return [...plain, ...made].map(([, name]) => name);
}
