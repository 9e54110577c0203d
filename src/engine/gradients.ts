/**
 * The gradients of one backward pass. A gradient may be shared by several tensors (y = a + b hands the same one to
 * both): it is copied when somebody must add to it while others still hold it, and freed when the last one drops it.
 */
import type { Device } from './device.ts';
import { Tensor } from './tensor.ts';

/** Turns the gradient of a node's output into gradients of its inputs. */
export type Backward = (dy: Tensor, gradients: Gradients) => void;
export type JointBackward = (dys: readonly Tensor[], gradients: Gradients) => void;

interface Slot {
  tensor: Tensor;
  /** Who else holds the same memory; undefined for a parameter's own gradient, which is never freed here. */
  lease: { holders: number } | undefined;
}

export class Gradients implements Disposable {
  readonly #device: Device;
  readonly #wanted: ReadonlySet<Tensor>;
  readonly #slots = new Map<Tensor, Slot>();

  constructor(device: Device, learn: ReadonlyMap<Tensor, Tensor>, wanted: ReadonlySet<Tensor>) {
    this.#device = device;
    this.#wanted = wanted;
    for (const [parameter, gradient] of learn) this.#slots.set(parameter, { tensor: gradient, lease: undefined });
  }

  wants(input: Tensor): boolean {
    return this.#wanted.has(input);
  }

  of(tensor: Tensor): Tensor | undefined {
    return this.#slots.get(tensor)?.tensor;
  }

  seed(loss: Tensor): void {
    this.into(loss, (out, accumulate) => {
      if (accumulate) this.#device.kernels.affine(out, out, 1, 1);
      else this.#device.kernels.fill(out, 1);
    });
  }

  /** Adds a contribution by a kernel that can add to its output: `body(out, accumulate)`. */
  into(input: Tensor, body: (out: Tensor, accumulate: boolean) => void): void {
    if (!this.wants(input)) return;
    const slot = this.#slots.get(input);
    if (slot === undefined) {
      const fresh = this.#empty(input);
      body(fresh, false);
      this.#slots.set(input, { tensor: fresh, lease: { holders: 1 } });
      return;
    }
    body(this.#exclusive(input, slot), true);
  }

  /** Adds contributions by a kernel that overwrites several outputs at once, wanted or not. */
  overwrite(inputs: readonly Tensor[], body: (outs: readonly Tensor[]) => void): void {
    if (!inputs.some((input) => this.wants(input))) return;
    const outs = inputs.map((input) => this.#empty(input));
    body(outs);
    inputs.forEach((input, i) => {
      if (!this.wants(input)) outs[i].free();
      else this.#hand(input, outs[i], { holders: 1 });
    });
  }

  /** dy itself, in the input's shape, is the contribution: nothing is computed. */
  pass(input: Tensor, output: Tensor): void {
    if (!this.wants(input)) return;
    const slot = this.#slots.get(output);
    if (slot === undefined) return;
    if (slot.lease === undefined) this.into(input, (out, accumulate) => this.#addOrCopy(out, slot.tensor, accumulate));
    else {
      slot.lease.holders++;
      this.#hand(input, slot.tensor.view(input.shape), slot.lease);
    }
  }

  /** The output's node is done: nobody will ask for its gradient again. */
  drop(output: Tensor): void {
    const slot = this.#slots.get(output);
    this.#slots.delete(output);
    if (slot !== undefined) this.#release(slot);
  }

  [Symbol.dispose](): void {
    for (const slot of this.#slots.values()) this.#release(slot);
    this.#slots.clear();
  }

  #empty(like: Tensor): Tensor {
    return Tensor.empty(this.#device, like.shape, like.dtype, `gradient of ${like.label}`);
  }

  #release({ tensor, lease }: Slot): void {
    if (lease === undefined) return;
    lease.holders--;
    if (lease.holders === 0) tensor.owner.free();
  }

  /** Gives a tensor up to the input's slot: it becomes the gradient, or is added to the one there. */
  #hand(input: Tensor, contribution: Tensor, lease: { holders: number }): void {
    const slot = this.#slots.get(input);
    if (slot === undefined) {
      this.#slots.set(input, { tensor: contribution, lease });
      return;
    }
    this.#device.kernels.add(this.#exclusive(input, slot), contribution);
    this.#release({ tensor: contribution, lease });
  }

  /** A tensor with the slot's contents that nobody else holds. */
  #exclusive(input: Tensor, slot: Slot): Tensor {
    if (slot.lease === undefined || slot.lease.holders === 1) return slot.tensor;
    const own = this.#empty(input);
    this.#device.kernels.copy(own, slot.tensor);
    this.#release(slot);
    this.#slots.set(input, { tensor: own, lease: { holders: 1 } });
    return own;
  }

  #addOrCopy(out: Tensor, value: Tensor, accumulate: boolean): void {
    if (accumulate) this.#device.kernels.add(out, value);
    else this.#device.kernels.copy(out, value);
  }
}
