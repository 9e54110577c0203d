/** A device whose kernels are watched or altered on the way: to count what runs, or to plant an error. */
import { type Device, type Kernels, Tensor } from '../../src/engine/index.ts';

/** The same device and memory, with some kernels replaced. */
export function withKernels(device: Device, replace: (kernels: Kernels) => Partial<Kernels>): Device {
  const replaced = replace(device.kernels);
  const kernels = new Proxy(device.kernels, {
    get(target, name: keyof Kernels) {
      const kernel: unknown = replaced[name] ?? target[name];
      return typeof kernel === 'function' ? kernel.bind(target) : kernel;
    },
  });
  return {
    name: device.name,
    arena: device.arena,
    kernels,
    write: (target, data) => device.write(target, data),
    read: (source) => device.read(source),
    freeze: (tensor) => device.freeze(tensor),
    release: (tensor) => device.release(tensor),
    sync: () => device.sync(),
    [Symbol.dispose]: () => device[Symbol.dispose](),
  };
}

/** `calls` gets one line `kernel → label of its output` for every kernel that runs. */
export function recordCalls(device: Device, calls: string[]): Device {
  return withKernels(device, (kernels) => {
    const names = Object.keys(kernels) as (keyof Kernels)[];
    const watched = names.map((name) => {
      const kernel = kernels[name] as (...parameters: readonly unknown[]) => void;
      const call = (...parameters: readonly unknown[]): void => {
        const out = parameters.find((parameter) => parameter instanceof Tensor);
        calls.push(`${name} → ${out?.label}`);
        kernel.apply(kernels, [...parameters]);
      };
      return [name, call];
    });
    return Object.fromEntries(watched) as Partial<Kernels>;
  });
}
