// C [rows, columns] (+)= A [rows, depth] · B [depth, columns], one tile at a time. Every element of C is one chain of
// madd over k in rising order, whatever the tile it falls into, so the way a product is cut never shows in its bytes.
// B is read past its last column up to a whole tile (the memory has room after the arena); what comes of it is dropped.
import { TILE_COLUMNS, TILE_ROWS, tile, wholeTile } from './tile';
import { tileScratch } from './layout';

const TILE_STRIDE: usize = TILE_COLUMNS * 4;

/** Computes the last columns of a row of tiles in a whole tile set aside. */
function edgeTile(
  height: i32, width: i32, a: usize, aRow: usize, aStep: usize, b: usize, bStep: usize, c: usize, cRow: usize, depth: i32,
  accumulate: bool,
): void {
  const aside = tileScratch();
  tile(height, a, aRow, aStep, b, bStep, aside, TILE_STRIDE, depth, false);
  for (let row = 0; row < height; row++) {
    const from = aside + row * TILE_STRIDE;
    const to = c + row * cRow;
    for (let column: usize = 0; column < <usize>width * 4; column += 4) {
      const value = load<f32>(from + column);
      store<f32>(to + column, accumulate ? load<f32>(to + column) + value : value);
    }
  }
}

/** `bPanel` is the distance between neighbouring column tiles of B, `bStep` between its rows; all strides in bytes. */
export function multiplyBlock(
  a: usize, aRow: usize, aStep: usize, b: usize, bStep: usize, bPanel: usize, c: usize, cRow: usize, rows: i32,
  columns: i32, depth: i32, accumulate: bool,
): void {
  multiplyTiles(a, aRow, aStep, TILE_ROWS * aRow, b, bStep, bPanel, c, cRow, rows, columns, depth, accumulate);
}

/** The same where neighbouring row tiles of A lie `aTile` apart. */
export function multiplyTiles(
  a: usize, aRow: usize, aStep: usize, aTile: usize, b: usize, bStep: usize, bPanel: usize, c: usize, cRow: usize,
  rows: i32, columns: i32, depth: i32, accumulate: bool,
): void {
  for (let column = 0; column < columns; column += TILE_COLUMNS) {
    const width = min(TILE_COLUMNS, columns - column);
    let from = a;
    let to = c + <usize>column * 4;
    let row = 0;
    if (width == TILE_COLUMNS) {
      for (; row + TILE_ROWS <= rows; row += TILE_ROWS) {
        wholeTile(from, aRow, aStep, b, bStep, to, cRow, depth, accumulate);
        from += aTile;
        to += TILE_ROWS * cRow;
      }
      if (row < rows) tile(rows - row, from, aRow, aStep, b, bStep, to, cRow, depth, accumulate);
    } else {
      for (; row < rows; row += TILE_ROWS) {
        edgeTile(min(TILE_ROWS, rows - row), width, from, aRow, aStep, b, bStep, to, cRow, depth, accumulate);
        from += aTile;
        to += TILE_ROWS * cRow;
      }
    }
    b += bPanel;
  }
}
