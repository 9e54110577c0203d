/**
 * What a folder must provide to be a device. Kernels are queued in call order and nobody waits for them: `read` and
 * `sync` are the only places that wait. Kernels may write in place and trust their arguments: the ops have checked
 * shapes, dtypes and lifetimes.
 */
import type { Arena } from './arena.ts';
import type { Kernels } from './kernels.ts';
import type { HostArray, Tensor } from './tensor.ts';

export interface Device extends Disposable {
  readonly name: string;
  readonly arena: Arena;
  readonly kernels: Kernels;
  /** Data is copied before the call returns. */
  write(target: Tensor, data: HostArray): void;
  read(source: Tensor): Promise<HostArray>;
  /** A promise that the contents are final until the tensor is freed: the device may keep a faster layout of them. */
  freeze(tensor: Tensor): void;
  /** The tensor's bytes, and what the device derived from them, may be reused by later kernels. */
  release(tensor: Tensor): void;
  sync(): Promise<void>;
}
