/** Wraps a device so that its kernels are watched or changed, to count what runs or to plant an error. */
import { type Device, type Kernels, Tensor } from '../../src/engine/index.ts';

/** The same device and memory, with some kernels replaced. */
export function withKernels(device: Device, replace: (kernels: Kernels) => Partial<Kernels>): Device {
  const kernels = overlay(device.kernels, replace(device.kernels));
  return overlay(device, { kernels });
}

/** An object with the properties of `over`, and else of `base`, whose methods run on `base` itself because of private fields. */
function overlay<T extends object>(base: T, over: Partial<T>): T {
  return new Proxy(base, {
    get(target, name) {
      const value: unknown = Reflect.get(over, name) ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Adds a line `kernel → label of its output` to `calls` for every kernel that runs. */
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

/** Names of the kernels: own functions, and methods if the kernels are a class. */
function kernelNames(kernels: Kernels): (keyof Kernels)[] {
  const names = [kernels, Object.getPrototypeOf(kernels)].flatMap((each) => Object.getOwnPropertyNames(each));
  const callable = names.filter((name) => typeof Reflect.get(kernels, name) === 'function');
  return callable.filter((name) => !(name in Object.prototype)) as (keyof Kernels)[];
}
