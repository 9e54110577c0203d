/**
 * Weights that will not change, for good or while they are held, and their packed layouts for x · weightᵀ, made on first use, kept in the arena, freed
 * with the weight. A layout saves the packing and changes no byte. Backward, dy · weight packs anew: it has the rows of a whole pass, beside which that
 * is little, and a layout would take as much memory as the weight.
 */
import { DeviceError } from '../../base/index.ts';
import type { Arena } from '../index.ts';
import { bytesOf, type Tensor } from '../index.ts';

/** Layouts may take this part of the arena. */
const arenaShare = 1 / 4;

/** The weight as the right side of a product. */
export interface RightSide {
  readonly depth: number;
  readonly columns: number;
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

  /** Where the weight's layout for this use lies; undefined where there is none yet. */
  find(tensor: Tensor, { depth, columns }: RightSide): number | undefined {
    for (const each of this.#rangeOf(tensor)?.layouts.get(tensor.offset) ?? []) {
      if (each.depth === depth && each.columns === columns) return each.offset;
    }
    return undefined;
  }

  /** Takes room for one that has to be made; undefined if the weight is not frozen, or if there is no room. */
  add(tensor: Tensor, { depth, columns }: RightSide, bytes: number): number | undefined {
    const range = this.#rangeOf(tensor);
    if (range === undefined) return undefined;
    if (this.#bytes + bytes > this.#arena.capacity * arenaShare || !this.#arena.fits(bytes)) return undefined;
    const offset = this.#arena.alloc(bytes, () => `packed ${tensor.label}`);
    this.#bytes += bytes;
    const known = range.layouts.get(tensor.offset) ?? [];
    range.layouts.set(tensor.offset, [...known, { depth, columns, offset, bytes }]);
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
