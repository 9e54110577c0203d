// The packed layout of B [depth, columns]: blocks of 256 rows; in a block, panels as wide as the register tile; in a
// panel, row after row. The last panel is filled up with zeros. An A that lies as [depth, rows] is packed alike, in tiles of
// the register tile's height, for the weight gradients.
import { TILE_COLUMNS, TILE_ROWS } from './tile';

export const BLOCK_DEPTH: i32 = 256;

/** to [columns, rows] = from [rows, columns] transposed; strides in bytes. */
function transposeCopy(from: usize, fromRow: usize, to: usize, toRow: usize, rows: i32, columns: i32): void {
  let row = 0;
  for (; row + 4 <= rows; row += 4) {
    let column = 0;
    for (; column + 4 <= columns; column += 4) {
      const source = from + row * fromRow + column * 4;
      const target = to + column * toRow + row * 4;
      const a = v128.load(source);
      const b = v128.load(source + fromRow);
      const c = v128.load(source + 2 * fromRow);
      const d = v128.load(source + 3 * fromRow);
      const abLow = v128.shuffle<f32>(a, b, 0, 4, 1, 5);
      const abHigh = v128.shuffle<f32>(a, b, 2, 6, 3, 7);
      const cdLow = v128.shuffle<f32>(c, d, 0, 4, 1, 5);
      const cdHigh = v128.shuffle<f32>(c, d, 2, 6, 3, 7);
      v128.store(target, v128.shuffle<f32>(abLow, cdLow, 0, 1, 4, 5));
      v128.store(target + toRow, v128.shuffle<f32>(abLow, cdLow, 2, 3, 6, 7));
      v128.store(target + 2 * toRow, v128.shuffle<f32>(abHigh, cdHigh, 0, 1, 4, 5));
      v128.store(target + 3 * toRow, v128.shuffle<f32>(abHigh, cdHigh, 2, 3, 6, 7));
    }
    for (; column < columns; column++) {
      for (let r = row; r < row + 4; r++) {
        store<f32>(to + column * toRow + r * 4, load<f32>(from + r * fromRow + column * 4));
      }
    }
  }
  for (; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      store<f32>(to + column * toRow + row * 4, load<f32>(from + row * fromRow + column * 4));
    }
  }
}

/** Bytes of one step of k in a packed tile of A: 16, 20 or 24; and of a whole tile, kept off multiples of 2 KiB. */
export const TILE_STEP: usize = TILE_ROWS * 4;
export function packedTile(depth: i32): usize {
  return <usize>depth * TILE_STEP + 64;
}

/** A [depth, rows] in tiles of TILE_ROWS rows, row after row of the source. The last tile's missing rows are never used. */
export function packTiles(from: usize, fromRow: usize, to: usize, depth: i32, rows: i32): void {
  const tile = packedTile(depth);
  const tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
  for (let step = 0; step < depth; step++) {
    let source = from + step * fromRow;
    let target = to + step * TILE_STEP;
    for (let i = 0; i < tiles; i++) {
      v128.store(target, v128.load(source));
      if (TILE_ROWS == 5) store<f32>(target, load<f32>(source, 16), 16);
      if (TILE_ROWS == 6) store<i64>(target, load<i64>(source, 16), 16);
      source += TILE_STEP;
      target += tile;
    }
  }
}

/** 64 bytes of a panel at a time: one row of 16 columns, or two of 8. */
const LINE_ROWS: i32 = 16 / TILE_COLUMNS;

/** Whole panels of LINE_ROWS rows of B: `stride` bytes from a panel to the next. */
// @ts-ignore: decorator
@inline
function packRows(from: usize, fromRow: usize, to: usize, panels: i32, stride: usize): void {
  for (let panel = 0; panel < panels; panel++) {
    const next = LINE_ROWS == 1 ? from + 32 : from + fromRow;
    v128.store(to, v128.load(from));
    v128.store(to, v128.load(from, 16), 16);
    v128.store(to, v128.load(next), 32);
    v128.store(to, v128.load(next, 16), 48);
    from += TILE_COLUMNS * 4;
    to += stride;
  }
}

/**
 * Packs `columns` columns of `depth` rows, from the start of a panel on. `transposed`: the source holds B's columns as rows;
 * otherwise it is read row after row, as it lies in memory.
 */
export function packBlock(from: usize, fromRow: usize, transposed: bool, to: usize, depth: i32, columns: i32): void {
  const toRow: usize = TILE_COLUMNS * 4;
  const stride = <usize>depth * toRow;
  const whole = columns / TILE_COLUMNS;
  const rest = columns % TILE_COLUMNS;
  const last = to + whole * stride;
  if (rest > 0) memory.fill(last, 0, stride);
  if (transposed) {
    for (let panel = 0; panel < whole; panel++) {
      transposeCopy(from + panel * TILE_COLUMNS * fromRow, fromRow, to + panel * stride, toRow, TILE_COLUMNS, depth);
    }
    if (rest > 0) transposeCopy(from + whole * TILE_COLUMNS * fromRow, fromRow, last, toRow, rest, depth);
    return;
  }
  const pairs = depth - (depth % LINE_ROWS);
  for (let row = 0; row < pairs; row += LINE_ROWS) packRows(from + row * fromRow, fromRow, to + row * toRow, whole, stride);
  for (let row = pairs; row < depth; row++) {
    const source = from + row * fromRow;
    for (let panel = 0; panel < whole; panel++) {
      memory.copy(to + panel * stride + row * toRow, source + panel * toRow, toRow);
    }
  }
  if (rest == 0) return;
  for (let row = 0; row < depth; row++) {
    const source = from + row * fromRow;
    for (let column = 0; column < rest; column++) {
      store<f32>(last + row * toRow + column * 4, load<f32>(source + (whole * TILE_COLUMNS + column) * 4));
    }
  }
}

@unmanaged
class PackJob {
  to: usize;
  from: usize;
  /** Bytes between rows of the source, between batch entries of the source, and of the target. */
  fromRow: usize;
  fromBatch: usize;
  toBatch: usize;
  transposed: i32;
  depth: i32;
  columns: i32;
  /** Panels in one shard, and shards in one batch entry. */
  panels: i32;
  shards: i32;
}

/** A shard packs some panels, at full depth, of one batch entry. */
export function pack(args: usize, shard: i32): void {
  const job = changetype<PackJob>(args);
  const batch = shard / job.shards;
  const first = (shard % job.shards) * job.panels;
  const allPanels = (job.columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const column = first * TILE_COLUMNS;
  const columns = min(job.columns - column, job.panels * TILE_COLUMNS);
  const alongDepth: usize = job.transposed ? 4 : job.fromRow;
  const alongColumns: usize = job.transposed ? job.fromRow : 4;
  const from = job.from + batch * job.fromBatch + column * alongColumns;
  const to = job.to + batch * job.toBatch;
  for (let start = 0; start < job.depth; start += BLOCK_DEPTH) {
    const depth = min(BLOCK_DEPTH, job.depth - start);
    const block = to + (<usize>start * allPanels + <usize>first * depth) * TILE_COLUMNS * 4;
    packBlock(from + start * alongDepth, job.fromRow, job.transposed != 0, block, depth, columns);
  }
}
