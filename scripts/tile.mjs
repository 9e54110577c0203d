/**
 * Writes `kernels/tile.ts`, the part of the kernels that differs between variants: constants, and one function for each
 * height of the register tile, C [rows, columns] (+)= A [rows, depth] · B [depth, columns] with every accumulator in a
 * local. AssemblyScript has no arrays of v128 locals, hence this file. Three rules keep V8's code at its peak: one step
 * of k per iteration, all loads of a row of C before its stores (else revectorize gives up), and a pointer for each row of
 * A instead of one offset for all. A tile of one row and 32 columns, for single queries, hides more latency.
 */
export const variants = {
  plain: { rows: 4, columns: 8, relaxed: false },
  relaxed: { rows: 2, columns: 16, relaxed: true },
  wide: { rows: 6, columns: 16, relaxed: true },
};

const indices = (count) => [...Array(count).keys()];

function tileFunction(rows, columns, name = `tile${rows}`) {
  const vectors = indices(columns / 4);
  const each = (line) => indices(rows).flatMap((r) => vectors.map((v) => line(r, v)));
  return `
/** C [${rows}, ${columns}] (+)= A [${rows}, depth] · B [depth, ${columns}]; strides in bytes. */
export function ${name}(
  a: usize, aRow: usize, aStep: usize, b: usize, bStep: usize, c: usize, cRow: usize, depth: i32, accumulate: bool,
): void {
  ${each((r, v) => `let c${r}_${v} = f32x4.splat(0);`).join('\n  ')}
  ${indices(rows)
    .map((r) => `let a${r} = a + ${r} * aRow;`)
    .join('\n  ')}
  for (let k = 0; k < depth; k++) {
    ${vectors.map((v) => `const b${v} = v128.load(b, ${16 * v});`).join('\n    ')}
    ${indices(rows)
      .map((r) =>
        [
          `const s${r} = v128.load32_splat(a${r});`,
          ...vectors.map((v) => `c${r}_${v} = madd(s${r}, b${v}, c${r}_${v});`),
        ].join('\n    '),
      )
      .join('\n    ')}
    b += bStep;
    ${indices(rows)
      .map((r) => `a${r} += aStep;`)
      .join('\n    ')}
  }
  ${indices(rows)
    .map((r) => `const p${r} = c + ${r} * cRow;`)
    .join('\n  ')}
  if (accumulate) {
    ${indices(rows)
      .map((r) =>
        [
          ...vectors.map((v) => `const d${r}_${v} = f32x4.add(v128.load(p${r}, ${16 * v}), c${r}_${v});`),
          ...vectors.map((v) => `v128.store(p${r}, d${r}_${v}, ${16 * v});`),
        ].join('\n    '),
      )
      .join('\n    ')}
  } else {
    ${each((r, v) => `v128.store(p${r}, c${r}_${v}, ${16 * v});`).join('\n    ')}
  }
}`;
}

/** The text of `kernels/tile.ts` for one variant and one kind of memory. */
export function tileSource({ rows, columns, relaxed }, shared) {
  const parameters =
    'a: usize, aRow: usize, aStep: usize, b: usize, bStep: usize, c: usize, cRow: usize, depth: i32, accumulate: bool';
  const cases = indices(rows).map(
    (r) => `    case ${r + 1}: return tile${r + 1}(a, aRow, aStep, b, bStep, c, cRow, depth, accumulate);`,
  );
  return `// Written by scripts/tile.mjs.
export const SHARED: bool = ${shared};
export const RELAXED: bool = ${relaxed};
export const TILE_ROWS: i32 = ${rows};
export const TILE_COLUMNS: i32 = ${columns};

/** a · b + c, fused or not as the variant says. */
// @ts-ignore: decorator
@inline
export function madd(a: v128, b: v128, c: v128): v128 {
  return RELAXED ? f32x4.relaxed_madd(a, b, c) : f32x4.add(f32x4.mul(a, b), c);
}

/** c − a · b. */
// @ts-ignore: decorator
@inline
export function nmadd(a: v128, b: v128, c: v128): v128 {
  return RELAXED ? f32x4.relaxed_nmadd(a, b, c) : f32x4.sub(c, f32x4.mul(a, b));
}
${indices(rows)
  .map((r) => tileFunction(r + 1, columns))
  .join('\n')}

${tileFunction(1, 32, 'tile1x32')}

/** A tile of all ${rows} rows. */
// @ts-ignore: decorator
@inline
export function wholeTile(${parameters}): void {
  tile${rows}(a, aRow, aStep, b, bStep, c, cRow, depth, accumulate);
}

/** A tile of 1 to ${rows} rows. */
export function tile(height: i32, ${parameters}): void {
  switch (height) {
${cases.join('\n')}
    default: unreachable();
  }
}
`;
}
