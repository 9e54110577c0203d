/**
 * The reference device as one that computes in bf16 too: a kernel gets float32 copies of its bf16 tensors, and what it made of them is
 * rounded back. Slow, and the definition of what rounding alone does to a computation.
 */
import { type Device, type Kernels, Scope, Tensor } from '../../src/engine/index.ts';
import { createReferenceDevice, type ReferenceOptions } from '../../src/engine/reference/index.ts';

type Kernel = (...parameters: readonly unknown[]) => void;

export function createRoundingDevice(options: ReferenceOptions = {}): Device {
  const device = createReferenceDevice(options);
  const plain: Readonly<Record<string, unknown>> = { ...device.kernels };
  const rounded = Object.entries(plain).map(([name, kernel]) => [name, roundedKernel(device, kernel as Kernel)]);
  const kernels: Kernels = { ...device.kernels, ...Object.fromEntries(rounded), copy: device.kernels.copy };
  return { ...device, floats: ['bf16', 'f32'], kernels };
}

function roundedKernel(device: Device, kernel: Kernel): Kernel {
  return (...parameters) => {
    using scope = new Scope(device);
    const wide = new Map<Tensor, Tensor>();
    const given = parameters.map((parameter) => {
      if (!(parameter instanceof Tensor) || parameter.dtype !== 'bf16') return parameter;
      const known = wide.get(parameter) ?? scope.empty(parameter.shape, `${parameter.label} in float32`);
      if (!wide.has(parameter)) device.kernels.copy(known, parameter);
      wide.set(parameter, known);
      return known;
    });
    kernel(...given);
    for (const [narrow, made] of wide) device.kernels.copy(narrow, made);
  };
}
