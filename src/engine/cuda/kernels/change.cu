// blockProduct of matmul.cu for Hopper: the change of a split adapter in one pass. A block is two warpgroups of 64 rows each and works
// through `strip` tiles of 64 columns; the next tile is on its way while one is worked on. Compiled for -DDEPTH and -DRANK.
constexpr int rowsPerBlock = 128, columnsPerTile = 64, sumPitch = columnsPerTile + 8;

// sum [64 × 64] (+)= a [64 × 16] · b [16 × 64], both in shared memory.
__device__ __forceinline__ void multiplyColumns(float (&sum)[8][4], u64 a, u64 b, bool add) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES_32 "}, %32, %33, p, 1, 1, 0, 1;}"
               : THIRTY_TWO(sum, 0)
               : "l"(a), "l"(b), "r"((int)add));
}
__device__ __forceinline__ u32 scalePair(u32 pair, float scale) {
  return packPair(__uint_as_float(pair << 16) * scale, __uint_as_float(pair & 0xffff0000u) * scale);
}

// out [M, N] = addend (nothing where null; may be out itself) + Σ over the first half of h's columns − Σ over its second half of
// coefficient · h · w. Column j of h [M, DEPTH] takes the coefficient of block ⌊j / RANK⌋ mod 2.
extern "C" __global__ void __launch_bounds__(256, 2) blockProduct(bf16 *out, const bf16 *addend, const bf16 *h, const bf16 *w,
                                                                  const float *coefficients, int M, int N, int strip) {
  extern __shared__ uint4 memory[];
  constexpr int half = (DEPTH + 63) / 64 * panelElements, stage = DEPTH * columnsPerTile + rowsPerBlock * sumPitch, chunks = DEPTH / 8;
  bf16 *left = (bf16 *)(((u64)memory + groupBytes - 1) / groupBytes * groupBytes), *stages = left + 2 * half;
  int row0 = blockIdx.y * rowsPerBlock, first = blockIdx.x * strip * columnsPerTile, last = min(N, first + strip * columnsPerTile);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, chunk = threadIdx.x % 8, firstRow = threadIdx.x / 8;
  auto prepare = [&](int column0, bf16 *right) {
    bf16 *sums = right + DEPTH * columnsPerTile;
    int column = column0 + chunk * 8;
#pragma unroll
    for (int k = firstRow; k < DEPTH; k += 32)
      copyAsync(right + k * 64 + (chunk ^ k) % 8 * 8, w + (column < N ? (i64)k * N + column : 0), column < N);
    if (addend != nullptr)
#pragma unroll
      for (int row = firstRow; row < rowsPerBlock; row += 32) {
        bool valid = row0 + row < M && column < N;
        copyAsync(sums + row * sumPitch + chunk * 8, addend + (valid ? (i64)(row0 + row) * N + column : 0), valid);
      }
    commitCopies();
  };
  // Where 8 columns of a row of h lie.
  auto place = [&](int row, int k) {
    return left + row / 64 * half + k / 64 * panelElements + row % 64 * 64 + (k / 8 ^ row) % 8 * 8;
  };
#pragma unroll 4
  for (int i = threadIdx.x; i < rowsPerBlock * chunks; i += 256) {
    int row = i / chunks, k = i % chunks * 8;
    bool valid = row0 + row < M;
    copyAsync(place(row, k), h + (valid ? (i64)(row0 + row) * DEPTH + k : 0), valid);
  }
  commitCopies();
  prepare(first, stages);
  // h is scaled once, where it lies.
  awaitCopies<1>();
  __syncthreads();
#pragma unroll 4
  for (int i = threadIdx.x; i < rowsPerBlock * chunks; i += 256) {
    int row = i / chunks, k = i % chunks * 8;
    float scale = coefficients[2 * min(M - 1, row0 + row) + k / RANK % 2];
    uint4 *at = (uint4 *)place(row, k), value = *at;
    *at = {scalePair(value.x, scale), scalePair(value.y, scale), scalePair(value.z, scale), scalePair(value.w, scale)};
  }
  const bf16 *own = left + warp / 4 * half;
  for (int column0 = first, which = 0; column0 < last; column0 += columnsPerTile, which ^= 1) {
    bf16 *right = stages + which * stage, *sums = right + DEPTH * columnsPerTile;
    awaitCopies<0>();
    showShared();
    __syncthreads();
    if (column0 + columnsPerTile < last) prepare(column0 + columnsPerTile, stages + (which ^ 1) * stage);
    float added[8][4], taken[8][4] = {};
    beginProducts();
    holdSums(taken);
#pragma unroll
    for (int k = 0; k < 2 * RANK; k += 16)
      multiplyColumns(added, describePanels(own + k / 64 * panelElements + k % 64), describePanels(right + k * 64), k > 0);
#pragma unroll
    for (int k = 2 * RANK; k < DEPTH; k += 16)
      multiplyColumns(taken, describePanels(own + k / 64 * panelElements + k % 64), describePanels(right + k * 64), k > 2 * RANK);
    commitProducts();
    awaitProducts<0>();
    holdSums(added);
    holdSums(taken);
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int part = 0; part < 2; part++) {
        int row = warp * 16 + lane / 4 + 8 * part, column = 8 * j + lane % 4 * 2;
        u32 *pair = (u32 *)(sums + row * sumPitch + column), earlier = addend == nullptr ? 0 : *pair;
        *pair = packPair(__uint_as_float(earlier << 16) + (added[j][2 * part] - taken[j][2 * part]),
                         __uint_as_float(earlier & 0xffff0000u) + (added[j][2 * part + 1] - taken[j][2 * part + 1]));
      }
    __syncthreads();
#pragma unroll
    for (int row = firstRow; row < rowsPerBlock; row += 32)
      if (row0 + row < M && column0 + chunk * 8 < N)
        *(uint4 *)(out + (i64)(row0 + row) * N + column0 + chunk * 8) = *(const uint4 *)(sums + row * sumPitch + chunk * 8);
  }
}
