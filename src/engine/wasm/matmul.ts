/**
 * Planning of matrix products: which way B is read, how the product is cut into shards, and the packed layouts kept for
 * frozen weights. All of it follows from shapes; a frozen layout only saves the packing, never changes a byte.
 */
import type { Arena } from '../arena.ts';
import type { MatmulOptions } from '../kernels.ts';
import type { Tensor } from '../tensor.ts';
import { runElements } from './elementwise.ts';
import { type Jobs, maxShards, pieces } from './jobs.ts';

const blockDepth = 256;
/** Work worth a shard: about 20 µs of one core. */
const shardFlops = 2e6;
const goodShardCount = 16;
/** A packed panel is not used often enough by so few rows to pay for its packing. */
const fewRows = 32;
/** From so many rows on, a transposed A is turned round first. */
const copyRows = 64;
/** Batch entries of one job. */
const mostEntries = 1024;
/** Frozen layouts may take this part of the arena. */
const frozenShare = 1 / 4;

interface Product {
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
}

/** A part of a product: some batch entries, columns and a range of depth, and where they start. */
interface Round extends Product {
  readonly c: number;
  readonly a: number;
  readonly b: number;
  readonly accumulate: boolean;
}

interface Layout {
  readonly offset: number;
  readonly bytes: number;
}

interface Frozen {
  readonly start: number;
  readonly end: number;
  readonly layouts: Map<string, Layout>;
}

export class Matmul {
  readonly #jobs: Jobs;
  readonly #arena: Arena;
  readonly #frozen = new Map<Tensor, Frozen[]>();
  #frozenBytes = 0;

  constructor(jobs: Jobs, arena: Arena) {
    this.#jobs = jobs;
    this.#arena = arena;
  }

  run(out: Tensor, a: Tensor, b: Tensor, options: MatmulOptions): void {
    const product = productOf(out, a, options);
    if (out.size === 0) return;
    if (product.depth === 0) {
      if (!options.accumulate) runElements(this.#jobs, 'fill', out.offset, 0, out.size);
      return;
    }
    const whole = { ...product, c: out.offset, a: a.offset, b: b.offset, accumulate: options.accumulate };
    const layout = this.#frozenLayout(b, product, options.transposeB);
    if (layout !== undefined) {
      this.#multiply(product, { ...whole, b: layout.offset }, options, 'packed');
      return;
    }
    const inPlace = !options.transposeB && product.rows <= fewRows;
    for (const round of this.#rounds(whole, options, inPlace)) {
      if (inPlace) this.#multiply(product, round, options, 'in place');
      else {
        this.#pack(this.#jobs.scratch, product, round, options.transposeB);
        this.#multiply(product, { ...round, b: this.#jobs.scratch }, options, 'packed');
      }
    }
  }

  freeze(tensor: Tensor): void {
    const ranges = this.#frozen.get(tensor.owner) ?? [];
    ranges.push({ start: tensor.offset, end: tensor.offset + tensor.size * 4, layouts: new Map() });
    this.#frozen.set(tensor.owner, ranges);
  }

  isFrozen(tensor: Tensor): boolean {
    return this.#frozenRange(tensor) !== undefined;
  }

  release(tensor: Tensor): void {
    for (const { layouts } of this.#frozen.get(tensor) ?? []) {
      for (const { offset, bytes } of layouts.values()) {
        this.#arena.free(offset);
        this.#frozenBytes -= bytes;
      }
    }
    this.#frozen.delete(tensor);
  }

  #frozenRange(tensor: Tensor): Frozen | undefined {
    const end = tensor.offset + tensor.size * 4;
    return this.#frozen.get(tensor.owner)?.find((range) => range.start <= tensor.offset && end <= range.end);
  }

  #wholeTiles(columns: number): number {
    return Math.floor(columns / this.#jobs.tileColumns) * this.#jobs.tileColumns;
  }

  #paddedColumns(columns: number): number {
    return Math.ceil(columns / this.#jobs.tileColumns) * this.#jobs.tileColumns;
  }

  /** Made on first use; undefined where b is not a frozen matrix or the arena has no room. */
  #frozenLayout(b: Tensor, product: Product, transposeB: boolean): Layout | undefined {
    if (this.#frozen.size === 0 || product.batch > 1) return undefined;
    const range = this.#frozenRange(b);
    if (range === undefined) return undefined;
    const key = `${b.offset} ${product.depth} ${product.columns} ${transposeB}`;
    const known = range.layouts.get(key);
    if (known !== undefined) return known;
    const bytes = product.depth * this.#paddedColumns(product.columns) * 4;
    if (this.#frozenBytes + bytes > this.#arena.capacity * frozenShare || !this.#arena.fits(bytes)) return undefined;
    const layout = { offset: this.#arena.alloc(bytes, `packed ${b.label}`), bytes };
    this.#frozenBytes += bytes;
    range.layouts.set(key, layout);
    this.#pack(layout.offset, product, { ...product, c: 0, a: 0, b: b.offset, accumulate: false }, transposeB);
    return layout;
  }

  /** Pieces of the product whose packed B fits the shared scratch. */
  *#rounds(whole: Round, { transposeA, transposeB }: MatmulOptions, inPlace: boolean): Generator<Round> {
    const { batch, rows, columns, depth } = whole;
    const capacity = inPlace ? Number.POSITIVE_INFINITY : this.#jobs.scratchBytes / 4;
    const columnStep = Math.min(columns, this.#wholeTiles(capacity / Math.min(depth, blockDepth)));
    const padded = this.#paddedColumns(columnStep);
    const depthStep = padded * depth <= capacity ? depth : Math.floor(capacity / padded / blockDepth) * blockDepth;
    const batchStep =
      columnStep < columns || depthStep < depth ? 1 : Math.min(mostEntries, Math.floor(capacity / (padded * depth)));
    for (let entry = 0; entry < batch; entry += batchStep) {
      for (let column = 0; column < columns; column += columnStep) {
        for (let start = 0; start < depth; start += depthStep) {
          const inA = entry * rows * depth + (transposeA ? start * rows : start);
          const inB = entry * depth * columns + (transposeB ? column * depth + start : start * columns + column);
          yield {
            batch: Math.min(batchStep, batch - entry),
            rows,
            columns: Math.min(columnStep, columns - column),
            depth: Math.min(depthStep, depth - start),
            c: whole.c + (entry * rows * columns + column) * 4,
            a: whole.a + inA * 4,
            b: whole.b + inB * 4,
            accumulate: whole.accumulate || start > 0,
          };
        }
      }
    }
  }

  #pack(to: number, product: Product, round: Round, transposed: boolean): void {
    const panelCount = Math.ceil(round.columns / this.#jobs.tileColumns);
    const leastPanels = Math.max(1, Math.round(32768 / (round.depth * this.#jobs.tileColumns)));
    const { count, each } = pieces(panelCount, leastPanels);
    this.#jobs.run('pack', count * round.batch, [
      to,
      round.b,
      (transposed ? product.depth : product.columns) * 4,
      product.depth * product.columns * 4,
      this.#paddedColumns(round.columns) * round.depth * 4,
      transposed ? 1 : 0,
      round.depth,
      round.columns,
      each,
      count,
    ]);
  }

  #multiply(product: Product, round: Round, options: MatmulOptions, way: 'packed' | 'in place'): void {
    const grid = this.#grid(round);
    const copyA = options.transposeA && round.rows > copyRows && round.columns > 2 * this.#jobs.tileColumns;
    const packed = way === 'packed';
    const bBatch = packed ? this.#paddedColumns(round.columns) * round.depth : product.depth * product.columns;
    this.#jobs.run('gemm', grid.rowBlocks * grid.columnBlocks * round.batch, [
      round.c,
      round.a,
      round.b,
      round.rows,
      round.columns,
      round.depth,
      grid.rowBlock,
      grid.columnBlock,
      grid.rowBlocks,
      grid.columnBlocks,
      product.columns * 4,
      (options.transposeA ? product.rows : product.depth) * 4,
      product.columns * 4,
      product.rows * product.columns * 4,
      product.rows * product.depth * 4,
      bBatch * 4,
      options.transposeA ? 1 : 0,
      copyA ? 1 : 0,
      packed ? 1 : 0,
      round.accumulate ? 1 : 0,
    ]);
  }

  /** Shards big enough to be worth a claim, and enough of them to keep the cores level. */
  #grid({ batch, rows, columns, depth }: Product) {
    const { tileRows, tileColumns } = this.#jobs;
    let columnBlocks = Math.ceil(columns / 512);
    let rowBlocks = Math.min(Math.ceil(rows / 128), Math.floor(maxShards / columnBlocks / batch));
    const flops = 2 * batch * rows * columns * depth;
    const wanted = Math.min(goodShardCount, Math.floor(flops / shardFlops));
    while (batch * rowBlocks * columnBlocks < wanted) {
      const byColumns = columns / columnBlocks > 8 * tileColumns || rows / rowBlocks <= 4 * tileRows;
      if (byColumns && columns / columnBlocks <= tileColumns) break;
      if (byColumns) columnBlocks++;
      else rowBlocks++;
    }
    const rowBlock = Math.ceil(rows / rowBlocks / tileRows) * tileRows;
    const columnBlock = Math.ceil(columns / columnBlocks / tileColumns) * tileColumns;
    return {
      rowBlock,
      columnBlock,
      rowBlocks: Math.ceil(rows / rowBlock),
      columnBlocks: Math.ceil(columns / columnBlock),
    };
  }
}

function productOf(out: Tensor, a: Tensor, { transposeA }: MatmulOptions): Product {
  const [rows = 1, columns = 1] = out.shape.slice(-2);
  const depth = a.shape.at(transposeA ? -2 : -1) ?? 1;
  return { batch: out.shape.length > 2 ? (out.shape[0] ?? 1) : 1, rows, columns, depth };
}
