/**
 * Writes `kernels/tile.ts`, the part of the kernels that differs between variants: constants, and functions for each
 * height of the register tile, C [rows, columns] (+)= A [rows, depth] · B [depth, columns] with every accumulator in a
 * local. AssemblyScript has no arrays of v128 locals, hence this file. What keeps V8's code near its peak: few instructions
 * beside the products (a core shared with a neighbour decodes half as many), hence `unroll` steps of k per turn where the
 * step along A is a constant; an exit after each step, because within a block of code V8 moves all loads to the front
 * and runs out of registers (tall steps are cut too, by `rowsOfBlock`); all loads of a row of C before its stores (else
 * revectorize gives up); a pointer for each row of A. A tile of one row and 32 columns, for single queries, hides latency.
 */
export const variants = {
  plain: { rows: 4, columns: 8, unroll: 1, rowsOfBlock: 4, relaxed: false },
  relaxed: { rows: 5, columns: 8, unroll: 2, rowsOfBlock: 3, relaxed: true },
  wide: { rows: 6, columns: 16, unroll: 8, rowsOfBlock: 6, relaxed: true },
};

const indices = (count) => [...Array(count).keys()];
const join = (lines, indent) => lines.flat().join(`\n${' '.repeat(indent)}`);

/** One step of k, `inA` and `inB` bytes from the pointers; the last rows may need a block of code of their own. */
function stepLines(rows, vectors, rowsOfBlock, inA, inB) {
  return [
    vectors.map((v) => `b${v} = v128.load(b, ${inB + 16 * v});`),
    indices(rows).map((r) => [
      r > 0 && r % rowsOfBlock === 0 ? 'if (left == -1) break;' : [],
      `s = v128.load32_splat(a${r}, ${inA});`,
      vectors.map((v) => `c${r}_${v} = madd(s, b${v}, c${r}_${v});`),
    ]),
  ].flat(3);
}

/** The steps along A and B are numbers of bytes, or the names of the parameters that have them. */
function tileFunction(name, { rows, columns, unroll, rowsOfBlock }, stepA, stepB = 'bStep') {
  const movesB = stepB === 'bStep';
  const vectors = indices(columns / 4);
  const each = (line) => indices(rows).map((r) => vectors.map((v) => line(r, v)).join(' '));
  const steps = indices(unroll).map((u) => [
    u > 0 ? [`if (left == ${u}) break;`, movesB ? 'b += bStep;' : []] : [],
    stepLines(rows, vectors, rowsOfBlock, u > 0 ? u * stepA : 0, movesB ? 0 : u * stepB),
  ]);
  return `
/** C [${rows}, ${columns}] (+)= A [${rows}, depth] · B [depth, ${columns}]; strides in bytes. */
export function ${name}(
  a: usize, aRow: usize, aStep: usize, b: usize, bStep: usize, c: usize, cRow: usize, depth: i32, accumulate: bool,
): void {
  ${join(
    each((r, v) => `let c${r}_${v} = f32x4.splat(0);`),
    2,
  )}
  ${indices(rows)
    .map((r) => `let a${r} = a + ${r} * aRow;`)
    .join('\n  ')}
  let s: v128;
  ${vectors.map((v) => `let b${v}: v128;`).join(' ')}
  let left = depth;
  if (left < 1) unreachable();
  while (true) {
    ${join(steps.flat(4), 4)}
    if (left == ${unroll}) break;
    left -= ${unroll};
    b += ${movesB ? 'bStep' : unroll * stepB};
    ${indices(rows)
      .map((r) => `a${r} += ${unroll > 1 ? unroll * stepA : stepA};`)
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
    ${join(
      each((r, v) => `v128.store(p${r}, c${r}_${v}, ${16 * v});`),
      4,
    )}
  }
}`;
}

/** Tiles of 1 to `rows` rows, and a function that takes the height. */
function tileFamily(suffix, variant, step, unroll, parameters) {
  const heights = indices(variant.rows).map((r) => r + 1);
  const tiles = heights.map((rows) => tileFunction(`tile${rows}${suffix}`, { ...variant, rows, unroll }, step));
  const cases = heights.map(
    (rows) => `    case ${rows}: return tile${rows}${suffix}(a, aRow, aStep, b, bStep, c, cRow, depth, accumulate);`,
  );
  return `${tiles.join('\n')}

function tile${suffix}(height: i32, ${parameters}): void {
  switch (height) {
${cases.join('\n')}
    default: unreachable();
  }
}`;
}

/** The text of `kernels/tile.ts` for one variant and one kind of memory. */
export function tileSource(variant, shared) {
  const { rows, columns, unroll, relaxed } = variant;
  const parameters =
    'a: usize, aRow: usize, aStep: usize, b: usize, bStep: usize, c: usize, cRow: usize, depth: i32, accumulate: bool';
  const call = 'a, aRow, aStep, b, bStep, c, cRow, depth, accumulate';
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
${tileFamily('AnyStep', variant, 'aStep', 1, parameters)}
${unroll > 1 ? tileFamily('AlongRows', variant, 4, unroll, parameters) : ''}
${unroll > 1 ? tileFunction(`tile${rows}Panel`, variant, 4, 4 * columns) : ''}
${unroll > 1 ? tileFunction(`tile${rows}Packed`, variant, 4 * rows) : ''}
${tileFunction('tile1x32', { rows: 1, columns: 32, unroll: 1, rowsOfBlock: 1 }, 'aStep')}

/** A tile of all ${rows} rows. */
// @ts-ignore: decorator
@inline
export function wholeTile(${parameters}): void {
  ${unroll > 1 ? `if (aStep == 4 && bStep == ${4 * columns}) return tile${rows}Panel(${call});` : ''}
  ${unroll > 1 ? `if (aStep == 4) return tile${rows}AlongRows(${call});` : ''}
  ${unroll > 1 ? `if (aStep == ${4 * rows}) return tile${rows}Packed(${call});` : ''}
  tile${rows}AnyStep(${call});
}

/** A tile of 1 to ${rows} rows. */
export function tile(height: i32, ${parameters}): void {
  ${unroll > 1 ? `if (aStep == 4) return tileAlongRows(height, ${call});` : ''}
  tileAnyStep(height, ${call});
}
`;
}
