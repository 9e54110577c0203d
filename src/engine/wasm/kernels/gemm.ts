// C [M, N] (+)= A · B over a fixed grid of shards. A is read in place, or packed first where it lies the other way round; B is read in
// place, or from packed panels made beforehand, or packed by the shard itself where no other shard needs its columns.
// Blocks of 256 along k are summed one after another into C.
import { multiplyTiles } from './block';
import { put, putPair } from './lanes';
import { scaleBlockRows } from './layers';
import { scratch } from './layout';
import { BLOCK_DEPTH, TILE_STEP, packBlock, packTiles, packedTile } from './pack';
import { TILE_COLUMNS, TILE_ROWS } from './tile';

@unmanaged
class GemmJob {
  c: usize;
  a: usize;
  b: usize;
  rows: i32;
  columns: i32;
  depth: i32;
  /** Rows and columns of one shard; shards along each axis. */
  rowBlock: i32;
  columnBlock: i32;
  rowBlocks: i32;
  columnBlocks: i32;
  /** Bytes between rows of C, of A and of B as they lie in memory, and between batch entries. */
  cRow: usize;
  aRow: usize;
  bRow: usize;
  cBatch: usize;
  aBatch: usize;
  bBatch: usize;
  /** Whether A lies as [depth, rows], and whether it is packed in tiles first. */
  transposedA: i32;
  packA: i32;
  /** How B is read, and whether it lies as [columns, depth]. */
  wayB: i32;
  transposedB: i32;
  accumulate: i32;
  /** Distance in bytes from C to what is added to the product; 0 for nothing. */
  addend: usize;
}

/** Ways of reading B, in the order of the host's list. */
const PACKED: i32 = 0;
const IN_PLACE: i32 = 1;

/** Place in the scratch where a shard packs its own columns: behind up to 240 packed rows of A. */
const OWN_PANELS: usize = 1 << 18;

/** C [rows, columns] = addend + C, the addend `away` bytes from it. */
function addOnto(c: usize, cRow: usize, away: usize, rows: i32, columns: i32): void {
  const bytes = <usize>columns * 4;
  const pairs = bytes & ~31;
  for (let row = 0; row < rows; row++) {
    const addend = c + away;
    let i: usize = 0;
    for (; i < pairs; i += 32) {
      const first = f32x4.add(v128.load(addend + i), v128.load(c + i));
      putPair(c + i, first, f32x4.add(v128.load(addend + i, 16), v128.load(c + i, 16)));
    }
    for (; i < bytes; i += 16) put(c + i, f32x4.add(v128.load(addend + i), v128.load(c + i)), bytes - i);
    c += cRow;
  }
}

export function gemm(args: usize, shard: i32): void {
  const job = changetype<GemmJob>(args);
  const grid = job.rowBlocks * job.columnBlocks;
  const batch = shard / grid;
  const row = (shard % job.rowBlocks) * job.rowBlock;
  const column = ((shard % grid) / job.rowBlocks) * job.columnBlock;
  const rows = min(job.rowBlock, job.rows - row);
  const columns = min(job.columnBlock, job.columns - column);
  const alongRows: usize = job.transposedA ? 4 : job.aRow;
  const alongDepth: usize = job.transposedA ? job.aRow : 4;
  const a = job.a + batch * job.aBatch + row * alongRows;
  const b = job.b + batch * job.bBatch;
  const c = job.c + batch * job.cBatch + row * job.cRow + column * 4;
  const paddedColumns = ((job.columns + TILE_COLUMNS - 1) / TILE_COLUMNS) * TILE_COLUMNS;
  for (let start = 0; start < job.depth; start += BLOCK_DEPTH) {
    const depth = min(BLOCK_DEPTH, job.depth - start);
    const accumulate = start > 0 || job.accumulate != 0;
    let aBlock = a + start * alongDepth;
    let aRow = alongRows;
    let aStep = alongDepth;
    let aTile = TILE_ROWS * alongRows;
    if (job.packA) {
      packTiles(aBlock, job.aRow, scratch(), depth, rows);
      aBlock = scratch();
      aRow = 4;
      aStep = TILE_STEP;
      aTile = packedTile(depth);
    }
    const panel = <usize>depth * TILE_COLUMNS * 4;
    if (job.wayB == PACKED) {
      const block = b + (<usize>start * paddedColumns + <usize>column * depth) * 4;
      multiplyTiles(aBlock, aRow, aStep, aTile, block, TILE_COLUMNS * 4, panel, c, job.cRow, rows, columns, depth, accumulate);
    } else if (job.wayB == IN_PLACE) {
      const block = b + start * job.bRow + column * 4;
      multiplyTiles(aBlock, aRow, aStep, aTile, block, job.bRow, TILE_COLUMNS * 4, c, job.cRow, rows, columns, depth, accumulate);
    } else {
      const own = scratch() + OWN_PANELS;
      const from = job.transposedB ? b + column * job.bRow + start * 4 : b + start * job.bRow + column * 4;
      packBlock(from, job.bRow, job.transposedB != 0, own, depth, columns);
      multiplyTiles(aBlock, aRow, aStep, aTile, own, TILE_COLUMNS * 4, panel, c, job.cRow, rows, columns, depth, accumulate);
    }
  }
  if (job.addend != 0) addOnto(c, job.cRow, job.addend, rows, columns);
}

@unmanaged
class ProductsJob {
  /** The products, one after another: the number of shards of each, then its GemmJob. */
  products: usize;
}

/** Several products in one job. */
export function products(args: usize, shard: i32): void {
  let product = changetype<ProductsJob>(args).products;
  while (shard >= load<i32>(product)) {
    shard -= load<i32>(product);
    product += 4 + offsetof<GemmJob>();
  }
  gemm(product + 4, shard);
}

/** What an adapter adds to a product: c ∘ h through up [2R or 4R, columns], the rows from 2R on counted negative. */
@unmanaged
class Change {
  h: usize;
  up: usize;
  coefficients: usize;
  rank: i32;
  /** Columns of h: 2R or 4R. */
  width: i32;
}

/** Rows of a change that are scaled and multiplied at a time: they stay in the nearest cache. */
const CHANGE_ROWS: i32 = 4 * TILE_ROWS;

/** C of the shard = the change, its two halves summed one after another. */
function putChange(change: Change, job: GemmJob, shard: i32): void {
  const firstRow = (shard % job.rowBlocks) * job.rowBlock;
  const lastRow = min(firstRow + job.rowBlock, job.rows);
  const column = (shard / job.rowBlocks) * job.columnBlock;
  const columns = min(job.columnBlock, job.columns - column);
  const half = 2 * change.rank;
  const scaledRow = <usize>half * 4;
  for (let row = firstRow; row < lastRow; row += CHANGE_ROWS) {
    const rows = min(CHANGE_ROWS, lastRow - row);
    const c = job.c + row * job.cRow + column * 4;
    for (let first = 0; first < change.width; first += half) {
      scaleBlockRows(scratch(), change.h, change.coefficients, row, rows, change.width, first, half, change.rank);
      for (let start = 0; start < half; start += BLOCK_DEPTH) {
        const up = change.up + (first + start) * job.cRow + column * 4;
        multiplyTiles(
          scratch() + start * 4, scaledRow, 4, TILE_ROWS * scaledRow, up, job.cRow, TILE_COLUMNS * 4, c, job.cRow, rows, columns,
          min(BLOCK_DEPTH, half - start), first + start > 0,
        );
      }
    }
  }
}

/** Several products with the changes of their adapters in one job. Each entry: the number of shards, the change, the GemmJob, which accumulates. */
export function adaptedProducts(args: usize, shard: i32): void {
  let entry = changetype<ProductsJob>(args).products;
  while (shard >= load<i32>(entry)) {
    shard -= load<i32>(entry);
    entry += 4 + offsetof<Change>() + offsetof<GemmJob>();
  }
  const job = entry + 4 + offsetof<Change>();
  putChange(changetype<Change>(entry + 4), changetype<GemmJob>(job), shard);
  gemm(job, shard);
}
