/**
 * Planning of matrix products: which way B is read and how the product is cut into shards. All of it follows from shapes;
 * a frozen layout only saves the packing, never changes a byte.
 */
import type { MatmulOptions, Tensor } from '../index.ts';
import { runElements } from './elementwise.ts';
import type { FrozenLayouts } from './frozen.ts';
import { type Jobs, maxShards, pieces } from './jobs.ts';

const blockDepth = 256;
/** Most rows and columns of a shard. */
const rowBlock = 128;
const columnBlock = 512;
/** Work worth a shard: about 10 µs of one core. */
const shardFlops = 1e6;
const goodShardCount = 32;
/** Shards of products that pack A: fewer, so that each packed panel of B serves more rows. */
const goodPackingCount = 8;
/** Most rows that use a packed panel too seldom to pay for its packing. */
const fewRows = 32;
/** Depth beyond which half of `fewRows` is the limit: reading a deep B column tile by column tile waits for memory. */
const shallow = 1024;
/** Longest rows of B whose block of 256 stays in the nearer caches: for a packed A they are read where they lie. */
const shortRowBytes = 3072;
/** Columns of a cache line: a tile that takes fewer of a row of B would fetch each line twice. */
const lineColumns = 16;
/** Number of rows above which a transposed A is packed first. */
const manyRows = 48;
/** Most columns of one job. */
const mostColumns = 2 ** 22;
/** Ways of reading B, in the order of kernels/gemm.ts. 'packed by the shard' is for products of one row of shards: nobody packs twice. */
const waysB = ['packed', 'in place', 'packed by the shard'] as const;
type WayB = (typeof waysB)[number];

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
  /** Distance in bytes from C to what is added to the product; 0 for nothing. */
  readonly addend: number;
}

/** x · weightᵀ. */
const applied: MatmulOptions = { transposeA: false, transposeB: true, accumulate: false };

/** The arguments of the kernel adaptedProducts. */
export interface AdaptedLayers {
  readonly outs: readonly Tensor[];
  readonly hs: readonly Tensor[];
  readonly onto: Tensor | null;
  readonly x: Tensor;
  readonly weights: readonly Tensor[];
  readonly downs: readonly Tensor[];
  readonly ups: readonly Tensor[];
  readonly coefficients: Tensor;
  readonly rank: number;
}

/** Products on their way to the kernel: the fields of their jobs one after another, in a list that is filled anew for every job. */
class Plans {
  readonly fields: number[] = [];
  length = 0;
  shards = 0;

  clear(): void {
    this.length = 0;
    this.shards = 0;
  }

  add(field: number): void {
    this.fields[this.length++] = field;
  }
}

export class Matmul {
  readonly #jobs: Jobs;
  readonly #frozen: FrozenLayouts;
  readonly #plans = new Plans();

  constructor(jobs: Jobs, frozen: FrozenLayouts) {
    this.#jobs = jobs;
    this.#frozen = frozen;
  }

  run(out: Tensor, a: Tensor, b: Tensor, options: MatmulOptions): void {
    const product = productOf(out, a, options);
    if (out.size === 0) return;
    if (product.depth > 0) this.#runWhole(product, out, a, b, options, 0);
    else if (!options.accumulate) runElements(this.#jobs, 'fill', out.offset, 0, out.size);
  }

  /** out = addend + op(a) · op(b), with the same bytes as the product and then the sum. */
  runOnto(out: Tensor, addend: Tensor, a: Tensor, b: Tensor, ways: Omit<MatmulOptions, 'accumulate'>): void {
    const accumulate = addend.offset === out.offset;
    const options = { ...ways, accumulate };
    const product = productOf(out, a, options);
    if (out.size === 0) return;
    if (product.depth > 0) this.#runWhole(product, out, a, b, options, addend.offset - out.offset);
    else runElements(this.#jobs, 'copyWords', out.offset, addend.offset, out.size);
  }

  /** outs[i] = x · weights[i]ᵀ: in one job where nothing has to be packed in the shared scratch first. */
  runTogether(outs: readonly Tensor[], x: Tensor, weights: readonly Tensor[]): void {
    this.#plans.clear();
    let isOne = true;
    for (let i = 0; isOne && i < outs.length; i++) isOne = this.#planOne(outs[i], x, weights[i], false, 0, null);
    if (isOne && this.#runPlans('products')) return;
    for (const [i, out] of outs.entries()) this.run(out, x, weights[i], applied);
  }

  /** Layers with their adapters: hs in a first job; in a second the change of each layer, W x added to it, and all that to `onto`. */
  runAdapted(layers: AdaptedLayers): void {
    const { outs, hs, onto, x, weights, downs } = layers;
    this.runTogether(hs, x, downs);
    const addendOf = (i: number): number => (i > 0 || onto === null ? 0 : onto.offset - outs[i].offset);
    this.#plans.clear();
    let isOne = true;
    for (let i = 0; isOne && i < outs.length; i++) {
      isOne = this.#planOne(outs[i], x, weights[i], true, addendOf(i), layers, i);
    }
    if (isOne && this.#runPlans('adaptedProducts')) return;
    const options = { ...applied, accumulate: true };
    for (const [i, out] of outs.entries()) {
      const product = productOf(out, x, applied);
      if (out.size === 0) continue;
      // A product without depth leaves the change as it is.
      const addend = product.depth > 0 ? 0 : addendOf(i);
      const nothing = roundOf({ ...product, depth: 0 }, out, x, weights[i].offset, true, addend);
      this.#plans.clear();
      this.#planEntry(product, nothing, options, 'in place', layers, i);
      this.#runPlans('adaptedProducts');
      if (product.depth > 0) this.#runWhole(product, out, x, weights[i], options, addendOf(i));
    }
  }

  /** Plans a product x · weightᵀ among others of one job; false where it cannot be, as its B must be packed in the scratch. */
  #planOne(
    out: Tensor,
    x: Tensor,
    weight: Tensor,
    accumulate: boolean,
    addend: number,
    layers: AdaptedLayers | null,
    layer = 0,
  ): boolean {
    const product = productOf(out, x, applied);
    if (out.size === 0 || product.depth === 0) return false;
    const layout = this.#frozenLayout(weight, product);
    const way = layout === undefined ? this.#wayOf(product, applied) : 'packed';
    if (way === 'packed' && layout === undefined) return false;
    const whole = roundOf(product, out, x, layout ?? weight.offset, accumulate, addend);
    this.#planEntry(product, whole, applied, way, layers, layer);
    return true;
  }

  /** The number of its shards, the change of its layer where it has one, and the fields of the product. */
  #planEntry(
    product: Product,
    round: Round,
    options: MatmulOptions,
    way: WayB,
    layers: AdaptedLayers | null,
    layer: number,
  ): void {
    const plans = this.#plans;
    const place = plans.length;
    plans.add(0);
    if (layers !== null) {
      const { hs, ups, coefficients, rank } = layers;
      plans.add(hs[layer].offset);
      plans.add(ups[layer].offset);
      plans.add(coefficients.offset);
      plans.add(rank);
      plans.add(hs[layer].shape[1]);
    }
    const shards = this.#plan(product, round, options, way);
    plans.fields[place] = shards;
    plans.shards += shards;
  }

  /** Whether the products that are planned are few enough for one job, which has run then. */
  #runPlans(name: 'products' | 'adaptedProducts'): boolean {
    const { fields, length, shards } = this.#plans;
    if (shards > maxShards) return false;
    this.#jobs.run(name, shards, [this.#jobs.stage(fields, length)]);
    return true;
  }

  #runWhole(product: Product, out: Tensor, a: Tensor, b: Tensor, options: MatmulOptions, addend: number): void {
    const layout = options.transposeB ? this.#frozenLayout(b, product) : undefined;
    const whole = roundOf(product, out, a, layout ?? b.offset, options.accumulate, addend);
    if (layout !== undefined) {
      this.#multiply(product, whole, options, 'packed');
      return;
    }
    const way = this.#wayOf(product, options);
    for (const round of this.#rounds(whole, options, way)) {
      if (way === 'packed') this.#pack(this.#jobs.scratch, product, round, options.transposeB);
      this.#multiply(product, way === 'packed' ? { ...round, b: this.#jobs.scratch } : round, options, way);
    }
  }

  #wholeTiles(columns: number): number {
    return Math.floor(columns / this.#jobs.tileColumns) * this.#jobs.tileColumns;
  }

  #paddedColumns(columns: number): number {
    return Math.ceil(columns / this.#jobs.tileColumns) * this.#jobs.tileColumns;
  }

  #frozenLayout(b: Tensor, product: Product): number | undefined {
    if (product.batch > 1) return undefined;
    const known = this.#frozen.find(b, product);
    if (known !== undefined) return known;
    const made = this.#frozen.add(b, product, product.depth * this.#paddedColumns(product.columns) * 4);
    if (made !== undefined) this.#pack(made, product, { ...product, b: b.offset }, true);
    return made;
  }

  /** How a B without a frozen layout is read. */
  #wayOf({ rows, columns, depth }: Product, { transposeA, transposeB }: MatmulOptions): WayB {
    const few = depth <= shallow ? fewRows : fewRows / 2;
    if (!transposeB && rows <= few) return 'in place';
    const short = this.#jobs.tileColumns >= lineColumns && columns * 4 <= shortRowBytes;
    if (transposeA && !transposeB && short && rows > rowBlock) return 'in place';
    return rows <= rowBlock ? 'packed by the shard' : 'packed';
  }

  /** Pieces of the product whose packed B fits the shared scratch. */
  *#rounds(whole: Round, { transposeA, transposeB }: MatmulOptions, way: WayB): Generator<Round> {
    const { batch, rows, columns, depth } = whole;
    const capacity = way === 'packed' ? this.#jobs.scratchBytes / 4 : Number.POSITIVE_INFINITY;
    const columnStep = Math.min(columns, mostColumns, this.#wholeTiles(capacity / Math.min(depth, blockDepth)));
    const padded = this.#paddedColumns(columnStep);
    const depthStep = padded * depth <= capacity ? depth : Math.floor(capacity / padded / blockDepth) * blockDepth;
    const mostEntries = Math.floor(maxShards / Math.ceil(columns / columnBlock) / Math.ceil(rows / rowBlock));
    const whole2d = columnStep === columns && depthStep === depth;
    const batchStep = whole2d ? Math.max(1, Math.min(mostEntries, Math.floor(capacity / (padded * depth)))) : 1;
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
            addend: start + depthStep < depth ? 0 : whole.addend,
          };
        }
      }
    }
  }

  #pack(to: number, product: Product, round: Product & { readonly b: number }, transposed: boolean): void {
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

  #multiply(product: Product, round: Round, options: MatmulOptions, way: WayB): void {
    this.#plans.clear();
    const shards = this.#plan(product, round, options, way);
    this.#jobs.run('gemm', shards, this.#plans.fields.slice(0, this.#plans.length));
  }

  /** Adds the fields of a product's job to the plans, and returns the number of its shards. */
  #plan(product: Product, round: Round, options: MatmulOptions, way: WayB): number {
    const packA = options.transposeA && round.rows > manyRows && round.columns > 2 * this.#jobs.tileColumns;
    const grid = this.#grid(round, way, packA);
    const packed = way === 'packed';
    const bBatch = packed ? this.#paddedColumns(round.columns) * round.depth : product.depth * product.columns;
    const plans = this.#plans;
    plans.add(round.c);
    plans.add(round.a);
    plans.add(round.b);
    plans.add(round.rows);
    plans.add(round.columns);
    plans.add(round.depth);
    plans.add(grid.rowsEach);
    plans.add(grid.columnsEach);
    plans.add(grid.rowBlocks);
    plans.add(grid.columnBlocks);
    plans.add(product.columns * 4);
    plans.add((options.transposeA ? product.rows : product.depth) * 4);
    plans.add((options.transposeB ? product.depth : product.columns) * 4);
    plans.add(product.rows * product.columns * 4);
    plans.add(product.rows * product.depth * 4);
    plans.add(bBatch * 4);
    plans.add(options.transposeA ? 1 : 0);
    plans.add(packA ? 1 : 0);
    plans.add(waysB.indexOf(way));
    plans.add(options.transposeB ? 1 : 0);
    plans.add(round.accumulate ? 1 : 0);
    plans.add(round.addend);
    return grid.rowBlocks * grid.columnBlocks * round.batch;
  }

  /** Shards big enough to be worth a claim, and enough of them to keep the cores level. What packs A is cut by rows. */
  #grid({ batch, rows, columns, depth }: Product, way: WayB, packA: boolean) {
    const { tileRows, tileColumns } = this.#jobs;
    // A shard that packs for itself keeps its columns to itself, and wide enough to be read along the rows.
    const alone = way === 'packed by the shard';
    const leastColumns = alone ? 4 * tileColumns : tileColumns;
    let columnBlocks = Math.ceil(columns / columnBlock);
    let rowBlocks = Math.min(Math.ceil(rows / rowBlock), Math.floor(maxShards / columnBlocks / batch));
    const flops = 2 * batch * rows * columns * depth;
    const wanted = Math.min(packA ? goodPackingCount : goodShardCount, Math.floor(flops / shardFlops));
    while (batch * rowBlocks * columnBlocks < wanted) {
      const wide = !packA && columns / columnBlocks > 8 * tileColumns;
      const byColumns = alone || wide || rows / rowBlocks <= 4 * tileRows;
      if (byColumns && columns / columnBlocks <= leastColumns) break;
      if (byColumns) columnBlocks++;
      else rowBlocks++;
    }
    const rowsEach = Math.ceil(rows / rowBlocks / tileRows) * tileRows;
    const columnsEach = Math.ceil(columns / columnBlocks / tileColumns) * tileColumns;
    return {
      rowsEach,
      columnsEach,
      rowBlocks: Math.ceil(rows / rowsEach),
      columnBlocks: Math.ceil(columns / columnsEach),
    };
  }
}

function roundOf(
  { batch, rows, columns, depth }: Product,
  out: Tensor,
  a: Tensor,
  b: number,
  accumulate: boolean,
  addend: number,
): Round {
  return { batch, rows, columns, depth, c: out.offset, a: a.offset, b, accumulate, addend };
}

function productOf(out: Tensor, a: Tensor, { transposeA }: MatmulOptions): Product {
  const [rows = 1, columns = 1] = out.shape.slice(-2);
  const depth = a.shape.at(transposeA ? -2 : -1) ?? 1;
  return { batch: out.shape.length > 2 ? (out.shape[0] ?? 1) : 1, rows, columns, depth };
}
