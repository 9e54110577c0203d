/** A device whose kernels are watched or altered on the way: to count what runs, or to plant an error. */
import { type Device, type Kernels, Tensor } from '../../src/engine/index.ts';

/** The same device and memory, with some kernels replaced. */
export function withKernels(device: Device, replace: (kernels: Kernels) => Partial<Kernels>): Device {
  const kernels = overlay(device.kernels, replace(device.kernels));
  return overlay(device, { kernels });
}

/** Reads `over` first, then `base`; methods of `base` run on `base` itself, which may have private fields. */
function overlay<T extends object>(base: T, over: Partial<T>): T {
  return new Proxy(base, {
    get(target, name) {
      const value: unknown = Reflect.get(over, name) ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** `calls` gets one line `kernel → label of its output` for every kernel that runs. */
export function recordCalls(device: Device, calls: string[]): Device {
  return withKernels(device, (kernels) => {
    const watched = kernelNames(kernels).map((name) => {
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

/** Own functions, and methods where the kernels are a class. */
function kernelNames(kernels: Kernels): (keyof Kernels)[] {
  const names = [kernels, Object.getPrototypeOf(kernels)].flatMap((each) => Object.getOwnPropertyNames(each));
  const callable = names.filter((name) => typeof Reflect.get(kernels, name) === 'function');
  return callable.filter((name) => !(name in Object.prototype)) as (keyof Kernels)[];
}
