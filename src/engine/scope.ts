/** A scope owns tensors and frees them when it ends: `using scope = new Scope(device)`. Functions borrow; scopes free. */
import type { Device } from './device.ts';
import { type DType, type HostArray, type Shape, sizeOf, Tensor } from './tensor.ts';

export class Scope implements Disposable {
  readonly device: Device;
  protected owned = new Set<Tensor>();
  readonly #deferred: (() => void)[] = [];

  constructor(device: Device) {
    this.device = device;
  }

  /** A tensor whose memory is not cleared. */
  empty(shape: Shape, label: string, dtype: DType = 'f32'): Tensor {
    return this.own(Tensor.empty(this.device, shape, dtype, label));
  }

  /** Tensors that lie side by side in memory: a device may treat neighbours as one. */
  stack(shapes: readonly Shape[], label: string, dtype: DType = 'f32'): Tensor[] {
    const all = this.empty([shapes.reduce((sum, shape) => sum + sizeOf(shape), 0)], label, dtype);
    let start = 0;
    return shapes.map((shape) => {
      const part = all.view(shape, start);
      start += part.size;
      return part;
    });
  }

  zeros(shape: Shape, label: string): Tensor {
    const tensor = this.empty(shape, label);
    this.device.kernels.fill(tensor, 0);
    return tensor;
  }

  from(
    data: HostArray,
    shape: Shape,
    label: string,
    dtype: DType = data instanceof Int32Array ? 'i32' : 'f32',
  ): Tensor {
    return this.own(Tensor.from(this.device, data, shape, dtype, label));
  }

  own(tensor: Tensor): Tensor {
    this.owned.add(tensor);
    return tensor;
  }

  /** Calls back when the scope ends, before its tensors are freed. */
  defer(end: () => void): void {
    this.#deferred.push(end);
  }

  [Symbol.dispose](): void {
    for (const end of this.#deferred.splice(0)) end();
    for (const tensor of this.owned) tensor.free();
    this.owned.clear();
  }
}
