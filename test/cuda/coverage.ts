/** Checks that every kernel of the sources was launched, so that none has gone without a comparison. */
import { kernelFiles, readKernelSource } from '../../src/engine/cuda/compiler.ts';
import type { Check } from '../device/suite.ts';

/** Kernels that only other GPUs than Hopper use, and files and kernels that only Hopper uses. */
const elsewhere = ['matmul blockProduct'];
const hopperFiles = ['hopper', 'queries', 'change'];
const hopperKernels = ['rows logSoftmaxSlopeOnce'];
const hopper = 90;

/** `launched`: file and name of each kernel that was. */
export function compareCoverage(launched: ReadonlySet<string>, capability: number): Check[] {
  const onHopper = capability === hopper;
  return kernelFiles.flatMap((file) =>
    kernelNames(readKernelSource(file))
      .filter((name) => {
        const kernel = `${file} ${name}`;
        return onHopper ? !elsewhere.includes(kernel) : !hopperFiles.includes(file) && !hopperKernels.includes(kernel);
      })
      .map((name) => {
        const missing = launched.has(`${file} ${name}`) ? 0 : 1;
        const bounds = { maxAbs: missing, maxRel: missing, bound: 0, pass: missing === 0 };
        return { case: `${file}.cu`, quantity: `${name} was launched`, ...bounds };
      }),
  );
}

/** Names of the kernels that a source declares, plainly or by a macro that makes one for each type or transposition. */
function kernelNames(source: string): string[] {
  const plain = source.matchAll(
    /^extern "C" __global__ void\s+(?:__(?:cluster_dims|launch_bounds)__\([^)]*\)\s*)*(\w+)\(/gm,
  );
  const made = source.matchAll(/^(?:CONVERT|MATMUL|LANE_PRODUCTS)\((\w+),/gm);
  return [...plain, ...made].map(([, name]) => name);
}
