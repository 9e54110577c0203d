// blockProduct of matmul.cu for Hopper: the change of one or several (PARTS) split adapters in one pass. A block is two warpgroups of 64
// rows each and works through `strip` tiles of 64 columns; weights are copied two tiles ahead, those of several parts one tile.
// Compiled for -DDEPTH, -DRANK, -DPARTS and -DADDING (whether there is something to add to).
constexpr int rowsPerBlock = 128, columnsPerTile = 64, sumPitch = columnsPerTile + 8, chunks = DEPTH / 8;
constexpr int ahead = PARTS == 1 ? 2 : PARTS, stages = ahead + PARTS;
constexpr int leftElements = 2 * ((DEPTH + 63) / 64) * panelElements, rightElements = DEPTH * columnsPerTile;
constexpr bool twoHalves = DEPTH > 2 * RANK, adding = ADDING;
// One part and nothing to add to: there are registers enough to keep h in them.
constexpr bool inRegisters = PARTS == 1 && !adding && DEPTH <= 128;

__device__ __forceinline__ u32 scalePair(u32 pair, float scale) {
  return packPair(__uint_as_float(pair << 16) * scale, __uint_as_float(pair & 0xffff0000u) * scale);
}
__device__ __forceinline__ u32 addPairs(u32 a, u32 b) {
  return packPair(__uint_as_float(a << 16) + __uint_as_float(b << 16), __uint_as_float(a & 0xffff0000u) + __uint_as_float(b & 0xffff0000u));
}

// sum [64 × 64] (+)= the 2 · RANK columns of h from `first` on · those rows of w. The product is only queued.
template <bool add, int first> __device__ __forceinline__ void multiplyHalf(float (&sum)[8][4], const bf16 *h, const bf16 *w) {
  auto left = [&](int k) { return describePanels(h + k / 64 * panelElements + k % 64); };
  multiplyShared<add, true>(sum, left(first), describePanels(w + first * 64));
#pragma unroll
  for (int k = first + 16; k < first + 2 * RANK; k += 16) multiplyShared<true, true>(sum, left(k), describePanels(w + k * 64));
}

// The same with h in registers.
template <int first> __device__ __forceinline__ void multiplyHeld(float (&sum)[8][4], const u32 (&h)[DEPTH / 16][4], const bf16 *w) {
  multiplyFirst(sum, h[first / 16], describePanels(w + first * 64));
#pragma unroll
  for (int k = first + 16; k < first + 2 * RANK; k += 16) multiplyRegisters(sum, h[k / 16], describePanels(w + k * 64));
}

// out [M, N], its rows `pitch` elements apart, = addend [M, N] (nothing unless adding; may be out itself where pitch is N) + Σ over parts of Σ over the first half
// of h's columns − Σ over its second half of coefficient · h · w. Column j of h [M, DEPTH] takes the coefficient of block ⌊j / RANK⌋ mod 2.
__device__ __forceinline__ void change(bf16 *out, const bf16 *addend, const bf16 *const (&hs)[3], const bf16 *const (&ws)[3],
                                       const float *coefficients, int M, int N, int strip, int pitch) {
  extern __shared__ uint4 memory[];
  bf16 *left = (bf16 *)(((u64)memory + groupBytes - 1) / groupBytes * groupBytes), *right = left + PARTS * leftElements;
  bf16 *sums = right + stages * rightElements;
  int row0 = blockIdx.y * rowsPerBlock, first = blockIdx.x * strip * columnsPerTile;
  int tiles = (min(N, first + strip * columnsPerTile) - first + columnsPerTile - 1) / columnsPerTile;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, chunk = threadIdx.x % 8, firstRow = threadIdx.x / 8;
  // Where 8 columns of a row of h lie.
  auto place = [&](int part, int row, int k) {
    return left + part * leftElements + row / 64 * (leftElements / 2) + k / 64 * panelElements + row % 64 * 64 + (k / 8 ^ row) % 8 * 8;
  };
#pragma unroll
  for (int part = 0; part < PARTS; part++)
#pragma unroll 4
    for (int i = threadIdx.x; i < rowsPerBlock * chunks; i += 256) {
      int row = i / chunks, k = i % chunks * 8;
      bool valid = row0 + row < M;
      copyAsync(place(part, row, k), hs[part] + (valid ? (i64)(row0 + row) * DEPTH + k : 0), valid);
    }
  commitCopies();
  auto prepare = [&](int tile, int part, int stage) {
    int column = first + tile * columnsPerTile + chunk * 8;
    bf16 *to = right + stage * rightElements;
    const bf16 *w = ws[part];
    if (tile < tiles)
#pragma unroll
      for (int k = firstRow; k < DEPTH; k += 32)
        copyAsync(to + k * 64 + (chunk ^ k) % 8 * 8, w + (column < N ? (i64)k * N + column : 0), column < N);
    commitCopies();
  };
  prepare(0, 0, 0);
  prepare(1 / PARTS, 1 % PARTS, 1);
  if (PARTS > 2) prepare(0, 2 % PARTS, 2);
  // The addend comes a tile ahead, in registers.
  uint4 earlier[4] = {};
  auto fetchAddend = [&](int tile) {
    int column = first + tile * columnsPerTile + chunk * 8;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int row = row0 + firstRow + 32 * i;
      if (row < M && column < N && tile < tiles) earlier[i] = *(const uint4 *)(addend + (i64)row * N + column);
    }
  };
  if (adding) fetchAddend(0);
  // h is scaled once, where it lies.
  awaitCopies<ahead>();
  __syncthreads();
#pragma unroll
  for (int part = 0; part < PARTS; part++)
#pragma unroll 4
    for (int i = threadIdx.x; i < rowsPerBlock * chunks; i += 256) {
      int row = i / chunks, k = i % chunks * 8;
      float scale = coefficients[2 * min(M - 1, row0 + row) + k / RANK % 2];
      uint4 *at = (uint4 *)place(part, row, k), value = *at;
      *at = {scalePair(value.x, scale), scalePair(value.y, scale), scalePair(value.z, scale), scalePair(value.w, scale)};
    }
  const bf16 *own = left + warp / 4 * (leftElements / 2);
  u32 held[DEPTH / 16][4];
  if constexpr (inRegisters) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; k += 16) loadTiles(held[k / 16], place(0, warp * 16 + lane % 16, k + lane / 16 * 8));
  }
  for (int tile = 0, stage = 0; tile < tiles; tile++, stage = (stage + PARTS) % stages) {
    float added[8][4], taken[8][4];
    awaitCopies<ahead - PARTS>();
    showShared();
    __syncthreads();
#pragma unroll
    for (int part = 0; part < PARTS; part++) prepare(tile + ahead / PARTS, part, (stage + ahead) % stages + part);
    beginProducts();
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
      const bf16 *h = own + part * leftElements, *w = right + (stage + part) * rightElements;
      if constexpr (inRegisters) {
        multiplyHeld<0>(added, held, w);
        if constexpr (twoHalves) multiplyHeld<DEPTH - 2 * RANK>(taken, held, w);
      } else {
        if (part == 0) multiplyHalf<false, 0>(added, h, w);
        else multiplyHalf<true, 0>(added, h, w);
        if (twoHalves && part == 0) multiplyHalf<false, DEPTH - 2 * RANK>(taken, h, w);
        if (twoHalves && part > 0) multiplyHalf<true, DEPTH - 2 * RANK>(taken, h, w);
      }
    }
    commitProducts();
    awaitProducts<0>();
    holdSums(added);
    if (twoHalves) holdSums(taken);
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c += 2) {
        int row = warp * 16 + lane / 4 + 4 * c, column = 8 * j + lane % 4 * 2;
        float low = twoHalves ? added[j][c] - taken[j][c] : added[j][c], high = twoHalves ? added[j][c + 1] - taken[j][c + 1] : added[j][c + 1];
        *(u32 *)(sums + row * sumPitch + column) = packPair(low, high);
      }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int row = firstRow + 32 * i, column = first + tile * columnsPerTile + chunk * 8;
      uint4 value = *(const uint4 *)(sums + row * sumPitch + chunk * 8);
      if (adding)
        value = {addPairs(value.x, earlier[i].x), addPairs(value.y, earlier[i].y), addPairs(value.z, earlier[i].z),
                 addPairs(value.w, earlier[i].w)};
      if (row0 + row < M && column < N) *(uint4 *)(out + (i64)(row0 + row) * pitch + column) = value;
    }
    if (adding) fetchAddend(tile + 1);
  }
  awaitCopies<0>();
}

extern "C" __global__ void __launch_bounds__(256, PARTS > 1 ? 1 : 2)
    blockProduct(bf16 *out, const bf16 *addend, const bf16 *h0, const bf16 *w0, const bf16 *h1, const bf16 *w1, const bf16 *h2,
                 const bf16 *w2, const float *coefficients, int M, int N, int strip) {
  const bf16 *hs[3] = {h0, h1, h2}, *ws[3] = {w0, w1, w2};
  change(out, addend, hs, ws, coefficients, M, N, strip, N);
}

#if PARTS == 1 && !ADDING
// Up to three changes, one for each z of the grid, side by side in the columns of out [M, N0 + N1 + N2]. Blocks beyond the end of a narrow
// one rest.
extern "C" __global__ void __launch_bounds__(256, 2)
    blockProducts(bf16 *out, const bf16 *h0, const bf16 *w0, const bf16 *h1, const bf16 *w1, const bf16 *h2, const bf16 *w2,
                  const float *coefficients, int M, int N0, int N1, int N2, int strip) {
  int which = blockIdx.z, N = which == 0 ? N0 : which == 1 ? N1 : N2, before = which == 0 ? 0 : which == 1 ? N0 : N0 + N1;
  if ((int)blockIdx.x * strip * columnsPerTile >= N) return;
  const bf16 *h = which == 0 ? h0 : which == 1 ? h1 : h2, *w = which == 0 ? w0 : which == 1 ? w1 : w2;
  const bf16 *hs[3] = {h, h, h}, *ws[3] = {w, w, w};
  change(out + before, nullptr, hs, ws, coefficients, M, N, strip, N0 + N1 + N2);
}
#endif
