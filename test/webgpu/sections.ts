/** What the webgpu device is held to in Node and in a browser, beside the reference device. */
import type { Device } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { compareGeneration } from '../cuda/model-suite.ts';
import { compareSampling } from '../cuda/sampling-suite.ts';
import { opCases } from '../device/cases.ts';
import { compareKernels, kernelCases } from '../device/kernel-cases.ts';
import { each, guard, leak, type Sections } from '../device/sections.ts';
import { compareOutcomes, runCase } from '../device/suite.ts';

/** The bound of the cuda device in float32. */
const bound = 2e-5;

export function deviceSections(device: Device, golden: string) {
  const reference = createReferenceDevice();
  return {
    kernels: () =>
      each(kernelCases(), async (kernel) => [
        ...(await compareKernels(device, reference, kernel, bound)),
        leak(kernel.name, device),
      ]),
    ops: () =>
      each(opCases(), async (op) => [
        ...compareOutcomes(op.name, await runCase(device, op), await runCase(reference, op), bound),
        leak(op.name, device),
      ]),
    sampling: () =>
      each(
        [1, 7, 1000, 32_000].map((columns) => ({ name: `sample of ${columns}`, columns })),
        ({ columns }) => compareSampling(device, 8, columns),
      ),
    generation: () => guard('generation', () => compareGeneration(device, reference, golden)),
  } satisfies Sections;
}
