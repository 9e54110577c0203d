/**
 * Bookkeeping of one slab of memory of a stated size: best fit over a sorted list of free ranges, neighbours merged on
 * free. It hands out byte offsets and touches no memory, so every device can use it over whatever its slab is.
 */
import { DeviceError, OutOfMemoryError } from '../base/index.ts';

const alignment = 256;

interface Range {
  start: number;
  end: number;
}

export class Arena {
  readonly capacity: number;
  readonly device: string;
  /** Most bytes ever in use at once. */
  peak = 0;
  used = 0;
  #free: Range[];
  readonly #taken = new Map<number, number>();
  readonly #reach: (end: number) => void;
  /** What is taken while work is watched that will be replayed. */
  #watched: Range[] | null = null;

  /** `base` is the first offset handed out: what lies below is the device's own. `reach` is told how far a slab that grows must reach. */
  constructor(device: string, capacity: number, base = 0, reach: (end: number) => void = () => {}) {
    const start = Math.ceil(base / alignment) * alignment;
    const end = Math.max(start, Math.floor(capacity / alignment) * alignment);
    this.device = device;
    this.capacity = end - start;
    this.#free = [{ start, end }];
    this.#reach = reach;
  }

  /** `label` says in an error what the memory was for. */
  alloc(bytes: number, label: string | (() => string)): number {
    const size = Math.max(alignment, Math.ceil(bytes / alignment) * alignment);
    let best: Range | undefined;
    for (const range of this.#free) {
      const room = range.end - range.start;
      if (room >= size && (best === undefined || room < best.end - best.start)) best = range;
    }
    if (best === undefined) {
      const largest = this.#free.reduce((most, { start, end }) => Math.max(most, end - start), 0);
      throw new OutOfMemoryError({
        call: `${this.device}: allocate ${typeof label === 'string' ? label : label()}`,
        expected: `${size} bytes in one piece`,
        found: `${this.capacity - this.used} of ${this.capacity} bytes free, the largest piece ${largest}`,
        fix: 'Use a smaller batch or a larger arena.',
      });
    }
    const offset = best.start;
    this.#reach(offset + size);
    best.start += size;
    if (best.start === best.end) this.#free.splice(this.#free.indexOf(best), 1);
    this.#watched?.push({ start: offset, end: offset + size });
    this.#mark(offset, size);
    return offset;
  }

  /**
   * Does `body`, and keeps all that it takes and gives back meanwhile from everybody else, until the answer is disposed of: work that is
   * replayed writes there again.
   */
  hold(body: () => void): Disposable {
    const watched: Range[] = [];
    this.#watched = watched;
    try {
      body();
    } finally {
      this.#watched = null;
    }
    const pieces = merge(watched).flatMap(({ start, end }) =>
      this.#free
        .map((range) => ({ start: Math.max(start, range.start), end: Math.min(end, range.end) }))
        .filter((piece) => piece.start < piece.end),
    );
    for (const piece of pieces) this.#take(piece);
    return {
      [Symbol.dispose]: () => {
        for (const { start } of pieces.splice(0)) this.free(start);
      },
    };
  }

  /** Takes a piece of a free range. */
  #take({ start, end }: Range): void {
    this.#free = this.#free.flatMap((range) => {
      if (range.end <= start || range.start >= end) return [range];
      const rest = [
        { start: range.start, end: start },
        { start: end, end: range.end },
      ];
      return rest.filter((piece) => piece.start < piece.end);
    });
    this.#mark(start, end - start);
  }

  #mark(offset: number, size: number): void {
    this.#taken.set(offset, size);
    this.used += size;
    this.peak = Math.max(this.peak, this.used);
  }

  /** Whether `alloc` would find room. */
  fits(bytes: number): boolean {
    return this.#free.some(({ start, end }) => end - start >= Math.ceil(bytes / alignment) * alignment);
  }

  free(offset: number): void {
    const size = this.#taken.get(offset);
    if (size === undefined) {
      throw new DeviceError({
        call: `${this.device}: free`,
        expected: 'an offset that is in use',
        found: `${offset}`,
        fix: 'A tensor was freed twice.',
      });
    }
    this.#taken.delete(offset);
    this.used -= size;
    const at = this.#free.findIndex(({ start }) => start > offset);
    const index = at < 0 ? this.#free.length : at;
    const before = this.#free[index - 1];
    const after = this.#free[index];
    const end = offset + size;
    if (before?.end === offset && after?.start === end) {
      before.end = after.end;
      this.#free.splice(index, 1);
    } else if (before?.end === offset) before.end = end;
    else if (after?.start === end) after.start = offset;
    else this.#free.splice(index, 0, { start: offset, end });
  }
}

/** The same places as ranges that do not touch. */
function merge(ranges: readonly Range[]): Range[] {
  const merged: Range[] = [];
  for (const { start, end } of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
}
