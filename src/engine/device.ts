/**
 * What a folder must provide to be a device. Kernels are queued in call order and nobody waits for them: `read` and
 * `sync` are the only places that wait. Kernels may write in place and trust their arguments: the ops have checked
 * shapes, dtypes and lifetimes.
 */
import type { Arena } from './arena.ts';
import type { Kernels } from './kernels.ts';
import type { Scope } from './scope.ts';
import type { DType, HostArray, Tensor } from './tensor.ts';

export interface Device extends Disposable {
  readonly name: string;
  readonly arena: Arena;
  readonly kernels: Kernels;
  /** Dtypes of activations and weights: kernels compute in these, and sum in float32 or better. */
  readonly floats: readonly DType[];
  /**
   * A device that has this may compute equal rows once: a row has the same bytes whatever other rows are computed with it, and so has a
   * query of a segment of 2 to this many queries, divided by the query heads of a key head.
   */
  readonly independentRows?: number;
  /**
   * A device that has this computes work of several policies as one batch: a row's bytes do not depend on the rows of others, where the rows
   * of each policy begin at a multiple of this in a pass that learns.
   */
  readonly lanes?: number;
  /** Data is copied before the call returns. */
  write(target: Tensor, data: HostArray): void;
  /** The contents as of this call, whatever is queued or freed before they arrive. */
  read(source: Tensor): Promise<HostArray>;
  /** A promise that the contents are final until the tensor is freed: the device may keep a faster layout of them. */
  freeze(tensor: Tensor): void;
  /** The same promise for a while: until the answer is disposed of. */
  hold?(tensor: Tensor): Disposable;
  /** The tensor's bytes, and what the device derived from them, may be reused by later kernels. */
  release(tensor: Tensor): void;
  /**
   * Queues what `body` queues. For the same key `body` always queues the same work on the same memory, so it may be replayed, for as long as
   * `scope` lives: the memory that it used stays its own until then.
   */
  repeat(key: string, body: () => void, scope: Scope): void;
  sync(): Promise<void>;
}
