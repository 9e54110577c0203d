// out [M, N] (+)= op(a) · op(b), one product per batch entry (grid z), for what the library is not asked: float32, and bf16
// products of small depth. Every element is summed over k in order, in pieces of 256, so a row does not depend on its neighbours;
// the product is rounded to the output's type before it is added, so p − p is exactly 0.

// A tile of tileM × tileN by 256 threads, each with an m × n block.
template <int tileM, int tileN, int m, int n>
__device__ __forceinline__ void multiplyF32(float *out, const float *a, const float *b, int M, int N, int K, int transposeA,
                                            int transposeB, int accumulate) {
  constexpr int depth = 16, piece = 256, threads = (tileM / m) * (tileN / n);
  __shared__ float left[depth][tileM + 4], right[depth][tileN + 4];
  a += (i64)blockIdx.z * M * K;
  b += (i64)blockIdx.z * K * N;
  out += (i64)blockIdx.z * M * N;
  int row0 = blockIdx.y * tileM, column0 = blockIdx.x * tileN;
  int threadRow = threadIdx.x / (tileN / n) * m, threadColumn = threadIdx.x % (tileN / n) * n;
  float sum[m][n] = {}, total[m][n] = {};
  for (int k0 = 0; k0 < K; k0 += depth) {
    if (k0 > 0 && k0 % piece == 0)
#pragma unroll
      for (int i = 0; i < m; i++)
#pragma unroll
        for (int j = 0; j < n; j++) {
          total[i][j] += sum[i][j];
          sum[i][j] = 0;
        }
    for (int i = threadIdx.x; i < tileM * depth; i += threads) {
      int row = transposeA ? i % tileM : i / depth, k = transposeA ? i / tileM : i % depth;
      bool valid = row0 + row < M && k0 + k < K;
      i64 at = transposeA ? (i64)(k0 + k) * M + row0 + row : (i64)(row0 + row) * K + k0 + k;
      left[k][row] = valid ? a[at] : 0.f;
    }
    for (int i = threadIdx.x; i < tileN * depth; i += threads) {
      int column = transposeB ? i / depth : i % tileN, k = transposeB ? i % depth : i / tileN;
      bool valid = column0 + column < N && k0 + k < K;
      i64 at = transposeB ? (i64)(column0 + column) * K + k0 + k : (i64)(k0 + k) * N + column0 + column;
      right[k][column] = valid ? b[at] : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < depth; k++) {
      float x[m], y[n];
#pragma unroll
      for (int i = 0; i < m; i++) x[i] = left[k][threadRow + i];
#pragma unroll
      for (int j = 0; j < n; j++) y[j] = right[k][threadColumn + j];
#pragma unroll
      for (int i = 0; i < m; i++)
#pragma unroll
        for (int j = 0; j < n; j++) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < m; i++)
#pragma unroll
    for (int j = 0; j < n; j++) {
      int row = row0 + threadRow + i, column = column0 + threadColumn + j;
      if (row >= M || column >= N) continue;
      float *target = out + (i64)row * N + column, product = total[i][j] + sum[i][j];
      *target = accumulate ? *target + product : product;
    }
}
extern "C" __global__ void __launch_bounds__(256) matmulSmall(float *out, const float *a, const float *b, int M, int N, int K,
                                                              int transposeA, int transposeB, int accumulate) {
  multiplyF32<32, 32, 2, 2>(out, a, b, M, N, K, transposeA, transposeB, accumulate);
}
extern "C" __global__ void __launch_bounds__(256) matmulLarge(float *out, const float *a, const float *b, int M, int N, int K,
                                                              int transposeA, int transposeB, int accumulate) {
  multiplyF32<128, 64, 8, 4>(out, a, b, M, N, K, transposeA, transposeB, accumulate);
}

// bf16 on tensor cores: 128 × 128 by 8 warps of 32 × 64. Tiles keep the operand's own order: [row][k], or [k][row] when it
// is transposed the other way. `whole`: 16-byte accesses are aligned and never cross an edge.
constexpr int edge = 128, depthStep = 32, byDepth = depthStep + 8, byEdge = edge + 8;

template <bool depthFirst>
__device__ __forceinline__ void fetch(bf16 *tile, const bf16 *from, int start, int k0, int rows, int K, int whole) {
  constexpr int inner = depthFirst ? depthStep : edge, outer = depthFirst ? edge : depthStep;
  constexpr int pitch = depthFirst ? byDepth : byEdge;
  int outerStart = depthFirst ? start : k0, innerStart = depthFirst ? k0 : start;
  int outerEnd = depthFirst ? rows : K, innerEnd = depthFirst ? K : rows;
  for (int i = threadIdx.x; i < outer * inner / 8; i += 256) {
    int o = i / (inner / 8), c = i % (inner / 8) * 8;
    bf16 *to = tile + o * pitch + c;
    const bf16 *source = from + (i64)(outerStart + o) * innerEnd + innerStart + c;
    if (whole) *(uint4 *)to = outerStart + o < outerEnd && innerStart + c < innerEnd ? *(const uint4 *)source : uint4{0, 0, 0, 0};
    else
      for (int j = 0; j < 8; j++)
        to[j].bits = outerStart + o < outerEnd && innerStart + c + j < innerEnd ? source[j].bits : 0;
  }
}

template <bool transposeA, bool transposeB>
__device__ __forceinline__ void multiplyBf16(void *out, const bf16 *a, const bf16 *b, int M, int N, int K, int whole, int outWhole,
                                             int outIsF32, int accumulate) {
  constexpr int tileSize = edge * byDepth > depthStep * byEdge ? edge * byDepth : depthStep * byEdge;
  __shared__ alignas(16) bf16 shared[2 * tileSize > edge * byEdge ? 2 * tileSize : edge * byEdge];
  bf16 *left = shared, *right = shared + tileSize;
  int row0 = blockIdx.y * edge, column0 = blockIdx.x * edge, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int warpRow = warp / 2 * 32, warpColumn = warp % 2 * 64;
  // A warp whose part lies beyond the edge only helps to fetch.
  bool works = row0 + warpRow < M && column0 + warpColumn < N;
  float sum[2][8][4] = {};
  for (int k0 = 0; k0 < K; k0 += depthStep) {
    fetch<!transposeA>(left, a, row0, k0, M, K, whole);
    fetch<transposeB>(right, b, column0, k0, N, K, whole);
    __syncthreads();
    if (works)
#pragma unroll
      for (int k = 0; k < depthStep; k += 16) {
        u32 x[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++) {
          if (transposeA) loadColumnsAsA<byEdge>(x[i], left, k, warpRow + 16 * i);
          else loadRows<byDepth>(x[i], left, warpRow + 16 * i, k);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
          u32 y[4];
          if (transposeB) loadRows<byDepth>(y, right, warpColumn + 16 * j, k);
          else loadColumnsAsB<byEdge>(y, right, k, warpColumn + 16 * j);
#pragma unroll
          for (int i = 0; i < 2; i++) {
            multiplyAdd(sum[i][2 * j], x[i], y[0], transposeB ? y[2] : y[1]);
            multiplyAdd(sum[i][2 * j + 1], x[i], transposeB ? y[1] : y[2], y[3]);
          }
        }
      }
    __syncthreads();
  }
  if (outIsF32) {
    float *target = (float *)out;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
          int row = row0 + warpRow + 16 * i + lane / 4 + c / 2 * 8, column = column0 + warpColumn + 8 * j + lane % 4 * 2 + c % 2;
          if (row >= M || column >= N) continue;
          float *element = target + (i64)row * N + column;
          *element = accumulate ? *element + sum[i][j][c] : sum[i][j][c];
        }
    return;
  }
  // The rounded product lies in shared memory, then goes out in rows.
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int c = 0; c < 2; c++) {
        int row = warpRow + 16 * i + lane / 4 + 8 * c, column = warpColumn + 8 * j + lane % 4 * 2;
        *(u32 *)(shared + row * byEdge + column) = packPair(sum[i][j][2 * c], sum[i][j][2 * c + 1]);
      }
  __syncthreads();
  bf16 *target = (bf16 *)out;
  for (int i = threadIdx.x; i < edge * edge / 8; i += 256) {
    int row = i / (edge / 8), column = i % (edge / 8) * 8;
    if (row0 + row >= M) continue;
    const bf16 *product = shared + row * byEdge + column;
    bf16 *to = target + (i64)(row0 + row) * N + column0 + column;
    if (outWhole) {
      if (column0 + column >= N) continue;
      uint4 value = *(const uint4 *)product;
      if (accumulate) {
        uint4 earlier = *(const uint4 *)to;
        const bf16 *x = (const bf16 *)&value, *y = (const bf16 *)&earlier;
        bf16 total[8];
#pragma unroll
        for (int j = 0; j < 8; j++) narrow(total[j], widen(x[j]) + widen(y[j]));
        value = *(const uint4 *)total;
      }
      *(uint4 *)to = value;
    } else
      for (int j = 0; j < 8 && column0 + column + j < N; j++)
        narrow(to[j], accumulate ? widen(product[j]) + widen(to[j]) : widen(product[j]));
  }
}
#define MATMUL(Name, transposeA, transposeB)                                                                                   \
  extern "C" __global__ void __launch_bounds__(256) Name(void *out, const bf16 *a, const bf16 *b, int M, int N, int K, int whole, \
                                                         int outWhole, int outIsF32, int accumulate) {                          \
    i64 z = blockIdx.z;                                                                                                         \
    void *own = (char *)out + z * M * N * (outIsF32 ? 4 : 2);                                                                   \
    multiplyBf16<transposeA, transposeB>(own, a + z * M * K, b + z * K * N, M, N, K, whole, outWhole, outIsF32, accumulate);    \
  }
MATMUL(matmulNN, false, false)
MATMUL(matmulNT, false, true)
MATMUL(matmulTN, true, false)
MATMUL(matmulTT, true, true)

// The same for products of several lanes (grid z), which differ in their addresses and in the rows of a.
constexpr int mostLanes = 64;
struct Lanes {
  u64 out[mostLanes], a[mostLanes], b[mostLanes], rows[mostLanes];
};
#define LANE_PRODUCTS(Name, transposeA, transposeB)                                                                              \
  extern "C" __global__ void __launch_bounds__(256) Name(const __grid_constant__ Lanes lanes, int M, int N, int K, int whole,    \
                                                         int outWhole, int outIsF32, int accumulate) {                          \
    int lane = blockIdx.z, rows = (int)lanes.rows[lane];                                                                         \
    if (transposeA) K = rows;                                                                                                    \
    else M = rows;                                                                                                               \
    if ((int)blockIdx.y * edge >= M) return;                                                                                     \
    multiplyBf16<transposeA, transposeB>((void *)lanes.out[lane], (const bf16 *)lanes.a[lane], (const bf16 *)lanes.b[lane], M, N, \
                                         K, whole, outWhole, outIsF32, accumulate);                                             \
  }
LANE_PRODUCTS(laneProductsNN, false, false)
LANE_PRODUCTS(laneProductsNT, false, true)
LANE_PRODUCTS(laneProductsTN, true, false)

// out [M, N] = addend (nothing where null; may be out itself) + Σ over the first half of h's columns − Σ over its second half of coefficient · h · w: the change of a split
// adapter in one pass, the halves summed apart, so that equal halves give exactly 0. Column j of h [M, K] takes the coefficient
// of block ⌊j / rank⌋ mod 2; with K = 2 · rank there is no second half. A block has 128 rows and `strip` tiles of 64 columns, the
// next tile on its way while one is worked on; 8 warps of 32 × 32. Needs rank to be a multiple of 16 and aligned rows.
constexpr int blockColumns = 64, blockPitch = blockColumns + 8;
__device__ __forceinline__ u32 scalePair(u32 pair, float scale) {
  return packPair(__uint_as_float(pair << 16) * scale, __uint_as_float(pair & 0xffff0000u) * scale);
}
__device__ __forceinline__ void multiplyBlock(float (&sum)[2][4][4], const bf16 *left, int pitch, const bf16 *right, int from, int until,
                                              int warpRow, int warpColumn) {
  int lane = threadIdx.x % 32;
#pragma unroll 4
  for (int k = from; k < until; k += 16) {
    u32 x[2][4];
#pragma unroll
    for (int i = 0; i < 2; i++) loadTiles(x[i], left + (warpRow + 16 * i + lane % 16) * pitch + k + lane / 16 * 8);
#pragma unroll
    for (int j = 0; j < 2; j++) {
      u32 y[4];
      loadColumnsAsB<blockPitch>(y, right, k, warpColumn + 16 * j);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        multiplyAdd(sum[i][2 * j], x[i], y[0], y[1]);
        multiplyAdd(sum[i][2 * j + 1], x[i], y[2], y[3]);
      }
    }
  }
}
extern "C" __global__ void __launch_bounds__(256) blockProduct(bf16 *out, const bf16 *addend, const bf16 *h, const bf16 *w,
                                                               const float *coefficients, int M, int N, int K, int rank, int strip) {
  extern __shared__ uint4 memory[];
  int pitch = K + 8, stage = (K + edge) * blockPitch;
  bf16 *left = (bf16 *)memory, *stages = left + edge * pitch;
  int row0 = blockIdx.y * edge, first = blockIdx.x * strip * blockColumns, last = min(N, first + strip * blockColumns);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warpRow = warp / 2 * 32, warpColumn = warp % 2 * 32;
  auto prepare = [&](int column0, bf16 *right) {
    bf16 *sums = right + K * blockPitch;
    for (int i = threadIdx.x; i < K * blockColumns / 8; i += 256) {
      int k = i / (blockColumns / 8), column = i % (blockColumns / 8) * 8;
      bool valid = column0 + column < N;
      copyAsync(right + k * blockPitch + column, w + (valid ? (i64)k * N + column0 + column : 0), valid);
    }
    for (int i = threadIdx.x; i < edge * blockColumns / 8; i += 256) {
      int row = i / (blockColumns / 8), column = i % (blockColumns / 8) * 8;
      bool valid = addend != nullptr && row0 + row < M && column0 + column < N;
      copyAsync(sums + row * blockPitch + column, valid ? addend + (i64)(row0 + row) * N + column0 + column : w, valid);
    }
    commitCopies();
  };
  for (int i = threadIdx.x; i < edge * K / 8; i += 256) {
    int row = i / (K / 8), k = i % (K / 8) * 8;
    bool valid = row0 + row < M;
    copyAsync(left + row * pitch + k, h + (valid ? (i64)(row0 + row) * K + k : 0), valid);
  }
  commitCopies();
  prepare(first, stages);
  // h is scaled once, where it lies.
  awaitCopies<1>();
  __syncthreads();
  for (int i = threadIdx.x; i < edge * K / 8; i += 256) {
    int row = i / (K / 8), k = i % (K / 8) * 8;
    float scale = coefficients[2 * min(M - 1, row0 + row) + k / rank % 2];
    uint4 *at = (uint4 *)(left + row * pitch + k), value = *at;
    *at = {scalePair(value.x, scale), scalePair(value.y, scale), scalePair(value.z, scale), scalePair(value.w, scale)};
  }
  for (int column0 = first, which = 0; column0 < last; column0 += blockColumns, which ^= 1) {
    bf16 *right = stages + which * stage, *sums = right + K * blockPitch;
    if (column0 + blockColumns < last) {
      prepare(column0 + blockColumns, stages + (which ^ 1) * stage);
      awaitCopies<1>();
    } else awaitCopies<0>();
    __syncthreads();
    float added[2][4][4] = {}, taken[2][4][4] = {};
    multiplyBlock(added, left, pitch, right, 0, 2 * rank, warpRow, warpColumn);
    multiplyBlock(taken, left, pitch, right, 2 * rank, K, warpRow, warpColumn);
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int j = 0; j < 4; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
          int row = warpRow + 16 * i + lane / 4 + 8 * half, column = warpColumn + 8 * j + lane % 4 * 2;
          u32 *pair = (u32 *)(sums + row * blockPitch + column);
          *pair = packPair(__uint_as_float(*pair << 16) + (added[i][j][2 * half] - taken[i][j][2 * half]),
                           __uint_as_float(*pair & 0xffff0000u) + (added[i][j][2 * half + 1] - taken[i][j][2 * half + 1]));
        }
    __syncthreads();
    for (int i = threadIdx.x; i < edge * blockColumns / 8; i += 256) {
      int row = i / (blockColumns / 8), column = i % (blockColumns / 8) * 8;
      if (row0 + row < M && column0 + column < N)
        *(uint4 *)(out + (i64)(row0 + row) * N + column0 + column) = *(const uint4 *)(sums + row * blockPitch + column);
    }
    __syncthreads();
  }
}

// x⁻¹ by Gauss–Jordan elimination with row pivots, in float64: one block; work [2, size, size].
extern "C" __global__ void invert(float *out, const float *x, double *work, int size) {
  double *inverse = work + (i64)size * size;
  __shared__ int pivot;
  extern __shared__ double factors[];
  for (int i = threadIdx.x; i < size * size; i += blockDim.x) {
    work[i] = x[i];
    inverse[i] = i % (size + 1) == 0 ? 1 : 0;
  }
  __syncthreads();
  for (int column = 0; column < size; column++) {
    if (threadIdx.x == 0) {
      pivot = column;
      for (int row = column + 1; row < size; row++)
        if (fabs(work[row * size + column]) > fabs(work[pivot * size + column])) pivot = row;
    }
    __syncthreads();
    for (int row = threadIdx.x; row < size; row += blockDim.x)
      factors[row] = work[(row == pivot ? column : row) * size + column];
    double divisor = work[pivot * size + column];
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * size; i += blockDim.x) {
      double *matrix = i < size ? work : inverse;
      int j = i % size;
      double lead = matrix[pivot * size + j] / divisor;
      matrix[pivot * size + j] = matrix[column * size + j];
      matrix[column * size + j] = lead;
      for (int row = 0; row < size; row++)
        if (row != column) matrix[row * size + j] -= factors[row] * lead;
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < size * size; i += blockDim.x) out[i] = inverse[i];
}
