/**
 * Weights that will not change, for good or while they are held, and their packed layouts: one for each way round they are used as the right side of a
 * product, made on first use, kept in the arena, freed with the weight. A layout saves the packing and changes no byte.
 */
import { DeviceError } from '../../base/index.ts';
import type { Arena } from '../index.ts';
import { bytesOf, type Tensor } from '../index.ts';

/** Layouts may take this part of the arena. */
const arenaShare = 1 / 4;

/** Which way round a weight is the right side of a product: [depth, columns], or transposed. */
export interface RightSide {
  readonly depth: number;
  readonly columns: number;
  readonly transposed: boolean;
}

interface Layout extends RightSide {
  readonly offset: number;
  readonly bytes: number;
}

interface FrozenRange {
  readonly start: number;
  readonly end: number;
  /** Layouts by the offset of the weight. */
  readonly layouts: Map<number, Layout[]>;
}

export class FrozenLayouts {
  readonly #arena: Arena;
  readonly #ranges = new Map<Tensor, FrozenRange[]>();
  #bytes = 0;

  constructor(arena: Arena) {
    this.#arena = arena;
  }

  /** Returns how to end the promise before the tensor is freed. */
  freeze(tensor: Tensor): () => void {
    const { owner } = tensor;
    const range: FrozenRange = { start: tensor.offset, end: endOf(tensor), layouts: new Map() };
    this.#ranges.set(owner, [...(this.#ranges.get(owner) ?? []), range]);
    return () => {
      const ranges = this.#ranges.get(owner) ?? [];
      if (ranges.includes(range)) this.#drop(range);
      this.#ranges.set(
        owner,
        ranges.filter((each) => each !== range),
      );
    };
  }

  /** Refuses a change of a tensor of which any part is promised not to change. */
  expectChangeable(call: string, tensor: Tensor): void {
    const ranges = this.#ranges.get(tensor.owner);
    if (ranges === undefined || ranges.every(({ start, end }) => end <= tensor.offset || endOf(tensor) <= start))
      return;
    throw new DeviceError({
      call: `${call} ${tensor.label}`,
      expected: 'a tensor whose contents may change',
      found: 'a frozen one',
      fix: 'Freeze a weight after its last change, and hold it only between changes.',
    });
  }

  release(tensor: Tensor): void {
    for (const range of this.#ranges.get(tensor) ?? []) this.#drop(range);
    this.#ranges.delete(tensor);
  }

  /** Where the weight's layout for this use lies, after `make` if it is new; undefined if not frozen, or if there is no room. */
  find(tensor: Tensor, side: RightSide, bytes: number, make: (offset: number) => void): number | undefined {
    const range = this.#rangeOf(tensor);
    if (range === undefined) return undefined;
    const { depth, columns, transposed } = side;
    const known = range.layouts.get(tensor.offset) ?? [];
    for (const each of known) {
      if (each.depth === depth && each.columns === columns && each.transposed === transposed) return each.offset;
    }
    if (this.#bytes + bytes > this.#arena.capacity * arenaShare || !this.#arena.fits(bytes)) return undefined;
    const offset = this.#arena.alloc(bytes, () => `packed ${tensor.label}`);
    this.#bytes += bytes;
    range.layouts.set(tensor.offset, [...known, { depth, columns, transposed, offset, bytes }]);
    make(offset);
    return offset;
  }

  #drop({ layouts }: FrozenRange): void {
    for (const { offset, bytes } of [...layouts.values()].flat()) {
      this.#arena.free(offset);
      this.#bytes -= bytes;
    }
  }

  #rangeOf(tensor: Tensor): FrozenRange | undefined {
    const ranges = this.#ranges.get(tensor.owner);
    return ranges?.find(({ start, end }) => start <= tensor.offset && endOf(tensor) <= end);
  }
}

function endOf(tensor: Tensor): number {
  return tensor.offset + tensor.size * bytesOf[tensor.dtype];
}
