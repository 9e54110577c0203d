/** The reference device's slab, and typed views into it. */
import type { Tensor } from '../index.ts';

export class Slab {
  readonly buffer: ArrayBuffer;

  constructor(bytes: number) {
    this.buffer = new ArrayBuffer(bytes);
  }

  floats(tensor: Tensor): Float32Array {
    return new Float32Array(this.buffer, tensor.offset, tensor.size);
  }

  ints(tensor: Tensor): Int32Array {
    return new Int32Array(this.buffer, tensor.offset, tensor.size);
  }

  halves(tensor: Tensor): Uint16Array {
    return new Uint16Array(this.buffer, tensor.offset, tensor.size);
  }
}
