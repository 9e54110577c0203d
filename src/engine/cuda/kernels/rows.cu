// Kernels that look at a whole row: RMSNorm, alone or with the rotation of heads, and log-softmax.
#ifdef PACKS
// Many long rows of bf16, a warp each: the row stays in registers, at most PACKS 16-byte pieces a lane.
__device__ __forceinline__ void unpack(float (&values)[8], uint4 piece) {
  u32 pairs[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
  for (int j = 0; j < 4; j++) {
    values[2 * j] = __uint_as_float(pairs[j] << 16);
    values[2 * j + 1] = __uint_as_float(pairs[j] & 0xffff0000u);
  }
}
__device__ __forceinline__ uint4 pack(const float (&values)[8]) {
  return {packPair(values[0], values[1]), packPair(values[2], values[3]), packPair(values[4], values[5]), packPair(values[6], values[7])};
}

extern "C" __global__ void __launch_bounds__(256) rmsNormRows(uint4 *out, float *inverseRms, const uint4 *x, const uint4 *weight, i64 rows,
                                                              int columns, float epsilon) {
  i64 row = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  int lane = threadIdx.x % 32, pieces = columns / 8;
  if (row >= rows) return;
  uint4 held[PACKS];
  float squares = 0, values[8], gains[8];
#pragma unroll
  for (int i = 0; i < PACKS; i++)
    if (lane + 32 * i < pieces) held[i] = x[row * pieces + lane + 32 * i];
#pragma unroll
  for (int i = 0; i < PACKS; i++)
    if (lane + 32 * i < pieces) {
      unpack(values, held[i]);
#pragma unroll
      for (int j = 0; j < 8; j++) squares += values[j] * values[j];
    }
  float r = 1.f / sqrtf(sumWarp(squares) / columns + epsilon);
  if (lane == 0) inverseRms[row] = r;
#pragma unroll
  for (int i = 0; i < PACKS; i++)
    if (lane + 32 * i < pieces) {
      unpack(values, held[i]);
      unpack(gains, weight[lane + 32 * i]);
#pragma unroll
      for (int j = 0; j < 8; j++) values[j] = values[j] * r * gains[j];
      out[row * pieces + lane + 32 * i] = pack(values);
    }
}
#endif

extern "C" __global__ void rmsNorm(real *out, float *inverseRms, const real *x, const real *weight, i64 rows, int columns,
                                   int whole, int lanes, float epsilon) {
  Lane at = lane(lanes);
  bool valid = at.row < rows;
  if (!valid) at.row = rows - 1;  // The lane still takes part in the sums of its warp.
  const real *source = x + at.row * columns;
  float squares = 0, values[packed], gains[packed];
  eachColumn(at, columns, whole, [&](int c, int count) {
    load(values, source + c, count);
    for (int j = 0; j < count; j++) squares += values[j] * values[j];
  });
  float r = 1.f / sqrtf(sumRow(squares, lanes) / columns + epsilon);
  if (!valid) return;
  if (at.index == 0) inverseRms[at.row] = r;
  eachColumn(at, columns, whole, [&](int c, int count) {
    load(values, source + c, count);
    load(gains, weight + c, count);
    for (int j = 0; j < count; j++) values[j] = values[j] * r * gains[j];
    store(out + at.row * columns + c, values, count);
  });
}

#ifdef LANES
extern "C" __global__ void __launch_bounds__(256) normRotary(real *out, float *inverseRms, const real *x, const real *weight,
                                                             const int *positions, const float *table, int rows, int heads, float epsilon) {
  constexpr int columns = LANES * packed;
  Turn turn = turnOf<ROWS>(positions, table, rows, heads);
  i64 at = (i64)turn.row * columns + turn.column;
  Pack held[ROWS];
#pragma unroll
  for (int row = 0; row < ROWS; row++) held[row] = *(const Pack *)(x + at + row * columns);
  float values[packed], gains[packed];
  load(gains, weight + turn.column, packed);
#pragma unroll
  for (int row = 0; row < ROWS; row++) {
#pragma unroll
    for (int j = 0; j < packed; j++) values[j] = widen(held[row].at[j]);
    float r = normAndTurn(values, gains, turn, epsilon);
    if (turn.valid && turn.column == 0) inverseRms[turn.row + row] = r;
    if (turn.valid) store(out + at + row * columns, values, packed);
  }
}

// The gradient of that: dy [tokens, heads, columns] is turned back, then goes through the norm.
extern "C" __global__ void __launch_bounds__(256) normRotaryBackward(real *dx, const real *dy, const real *x, const real *weight,
                                                                     const float *inverseRms, const int *positions, const float *table,
                                                                     int rows, int heads) {
  constexpr int columns = LANES * packed;
  Turn turn = turnOf<1>(positions, table, rows, heads);
  i64 at = (i64)turn.row * columns + turn.column;
  float values[packed], gains[packed], upstream[packed], r = inverseRms[turn.row], sum = 0;
  load(values, x + at, packed);
  load(gains, weight + turn.column, packed);
  load(upstream, dy + at, packed);
#pragma unroll
  for (int j = 0; j < packed; j++) {
    float other = __shfl_xor_sync(~0u, upstream[j], LANES / 2);
    upstream[j] = (upstream[j] * turn.cosines[j] + (turn.second ? -other : other) * turn.sines[j]) * gains[j];
    sum += upstream[j] * values[j];
  }
  float mean = sumLanes(sum) * r / columns;
#pragma unroll
  for (int j = 0; j < packed; j++) values[j] = r * (upstream[j] - values[j] * r * mean);
  if (turn.valid) store(dx + at, values, packed);
}
#endif

extern "C" __global__ void rmsNormBackward(real *dx, const real *dy, const real *x, const real *weight, const float *inverseRms,
                                           i64 rows, int columns, int whole, int lanes, int accumulate) {
  Lane at = lane(lanes);
  bool valid = at.row < rows;
  if (!valid) at.row = rows - 1;
  i64 base = at.row * columns;
  float r = inverseRms[at.row], sum = 0, values[packed], gains[packed], upstream[packed], earlier[packed];
  eachColumn(at, columns, whole, [&](int c, int count) {
    load(values, x + base + c, count);
    load(gains, weight + c, count);
    load(upstream, dy + base + c, count);
    for (int j = 0; j < count; j++) sum += upstream[j] * gains[j] * values[j];
  });
  float mean = sumRow(sum, lanes) * r / columns;
  if (!valid) return;
  eachColumn(at, columns, whole, [&](int c, int count) {
    load(values, x + base + c, count);
    load(gains, weight + c, count);
    load(upstream, dy + base + c, count);
    if (accumulate) load(earlier, dx + base + c, count);
    for (int j = 0; j < count; j++) {
      float value = r * (upstream[j] * gains[j] - values[j] * r * mean);
      values[j] = accumulate ? earlier[j] + value : value;
    }
    store(dx + base + c, values, count);
  });
}

// logits are always float32 here. One block per row, four columns at a time where `whole`; one pass finds the largest and the sum.
struct Normaliser {
  float top, logTotal;
};
__device__ __forceinline__ Normaliser normaliserOf(const float *row, int columns, int whole) {
  float most = -infinity, sum = 0;
  int fours = whole ? columns / 4 : 0;
  for (int i = threadIdx.x; i < fours; i += blockDim.x) {
    float4 four = ((const float4 *)row)[i];
    float top = fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
    if (top > most) {
      sum *= expf(most - top);
      most = top;
    }
    if (most > -infinity) sum += expf(four.x - most) + expf(four.y - most) + expf(four.z - most) + expf(four.w - most);
  }
  for (int c = 4 * fours + threadIdx.x; c < columns; c += blockDim.x) {
    float value = row[c];
    if (value > most) {
      sum = sum * expf(most - value) + 1.f;
      most = value;
    } else if (value != -infinity) sum += expf(value - most);
  }
  float top = maxBlock(most);
  float total = sumBlock(most == -infinity ? 0.f : sum * expf(most - top));
  return {top, logf(total)};
}

extern "C" __global__ void __launch_bounds__(1024) logSoftmaxGather(float *logp, float *logSumExp, const float *logits, const int *targets,
                                                                    int columns, int whole) {
  const float *row = logits + (i64)blockIdx.x * columns;
  Normaliser by = normaliserOf(row, columns, whole);
  if (threadIdx.x != 0) return;
  logSumExp[blockIdx.x] = by.top + by.logTotal;
  logp[blockIdx.x] = row[targets[blockIdx.x]] - by.top - by.logTotal;
}

extern "C" __global__ void logSoftmaxGatherBackward(float *logits, const float *logSumExp, const int *targets, const float *dLogp,
                                                    int columns) {
  int row = blockIdx.y, target = targets[row];
  float normaliser = logSumExp[row], upstream = dLogp[row];
  float *values = logits + (i64)row * columns;
  for (int c = firstIndex(); c < columns; c += indexStep())
    values[c] = upstream * ((c == target ? 1.f : 0.f) - expf(values[c] - normaliser));
}

// logp of the target and slope [rows, columns] = 1[c = target] − softmax.
struct alignas(4 * sizeof(real)) RealFour {
  real at[4];
};
extern "C" __global__ void __launch_bounds__(1024) logSoftmaxSlope(real *slope, float *logp, const float *logits, const int *targets,
                                                                   int columns, int whole) {
  const float *row = logits + (i64)blockIdx.x * columns;
  real *out = slope + (i64)blockIdx.x * columns;
  int target = targets[blockIdx.x], fours = whole ? columns / 4 : 0;
  Normaliser by = normaliserOf(row, columns, whole);
  if (threadIdx.x == 0) logp[blockIdx.x] = row[target] - by.top - by.logTotal;
  float normaliser = by.top + by.logTotal;
  auto slopeOf = [&](int c, float value) { return (c == target ? 1.f : 0.f) - expf(value - normaliser); };
  for (int i = threadIdx.x; i < fours; i += blockDim.x) {
    float4 four = ((const float4 *)row)[i];
    float values[4] = {four.x, four.y, four.z, four.w};
    RealFour result;
#pragma unroll
    for (int j = 0; j < 4; j++) narrow(result.at[j], slopeOf(4 * i + j, values[j]));
    ((RealFour *)out)[i] = result;
  }
  for (int c = 4 * fours + threadIdx.x; c < columns; c += blockDim.x) narrow(out[c], slopeOf(c, row[c]));
}

#ifdef PIECES
// The same by eight blocks a row (Hopper's clusters), at most PIECES times four columns a thread: these stay in registers, so that the
// logits are read once. `columns` is a multiple of four, rows are aligned. grid: 8 · rows.
constexpr int clusterBlocks = 8, clusterThreads = 512;
struct alignas(8) BlockSum {
  float top, sum;
};
extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(512, 2)
    logSoftmaxSlopeOnce(real *slope, float *logp, const float *logits, const int *targets, int columns) {
  __shared__ BlockSum own;
  int row = blockIdx.x / clusterBlocks, block = blockIdx.x % clusterBlocks, first = block * clusterThreads + threadIdx.x;
  int fours = columns / 4, target = targets[row];
  const float4 *from = (const float4 *)(logits + (i64)row * columns);
  float4 held[PIECES];
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    int at = first + i * clusterBlocks * clusterThreads;
    held[i] = at < fours ? from[at] : float4{-infinity, -infinity, -infinity, -infinity};
  }
  float most = -infinity, sum = 0;
#pragma unroll
  for (int i = 0; i < PIECES; i++) most = fmaxf(most, fmaxf(fmaxf(held[i].x, held[i].y), fmaxf(held[i].z, held[i].w)));
  most = maxBlock(most);
#pragma unroll
  for (int i = 0; i < PIECES; i++)
    if (most > -infinity) sum += expf(held[i].x - most) + expf(held[i].y - most) + expf(held[i].z - most) + expf(held[i].w - most);
  sum = sumBlock(sum);
  if (threadIdx.x == 0) own = {most, sum};
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  // Every thread adds the sums of the eight blocks, in their order.
  BlockSum all[clusterBlocks];
  float top = -infinity, total = 0;
#pragma unroll
  for (int other = 0; other < clusterBlocks; other++) {
    u32 address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(sharedAddress(&own)), "r"(other));
    asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(all[other].top), "=f"(all[other].sum) : "r"(address) : "memory");
    top = fmaxf(top, all[other].top);
  }
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
#pragma unroll
  for (int other = 0; other < clusterBlocks; other++)
    if (all[other].top > -infinity) total += all[other].sum * expf(all[other].top - top);
  float logTotal = logf(total), normaliser = top + logTotal;
  RealFour *to = (RealFour *)(slope + (i64)row * columns);
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    int at = first + i * clusterBlocks * clusterThreads;
    float values[4] = {held[i].x, held[i].y, held[i].z, held[i].w};
    RealFour result;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (4 * at + j == target) logp[row] = values[j] - top - logTotal;
      narrow(result.at[j], (4 * at + j == target ? 1.f : 0.f) - expf(values[j] - normaliser));
    }
    if (at < fours) to[at] = result;
  }
  // No block ends while others may read its sum.
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
#endif

// out [rows, columns] = x · scales [rows]. One block per row.
extern "C" __global__ void scaleRows(real *out, const real *x, const float *scales, int columns, int whole) {
  i64 base = (i64)blockIdx.x * columns;
  float scale = scales[blockIdx.x], values[packed];
  eachColumn(lane(0), columns, whole, [&](int c, int count) {
    load(values, x + base + c, count);
    for (int j = 0; j < count; j++) values[j] *= scale;
    store(out + base + c, values, count);
  });
}
