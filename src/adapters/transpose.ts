/** Transposes [rows, columns] tile by tile: row by row, one side would miss the cache at every step. */
const tile = 32;

export function transpose(data: Float32Array, rows: number, columns: number): Float32Array {
  const out = new Float32Array(data.length);
  // A rehearsal has no values.
  if (data.length === 0) return out;
  for (let row = 0; row < rows; row += tile) {
    const lastRow = Math.min(rows, row + tile);
    for (let column = 0; column < columns; column += tile) {
      const lastColumn = Math.min(columns, column + tile);
      for (let r = row; r < lastRow; r++)
        for (let c = column; c < lastColumn; c++) out[c * rows + r] = data[r * columns + c];
    }
  }
  return out;
}
