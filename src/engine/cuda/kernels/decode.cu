// Attention of one query per row over a cache, its keys split over blocks: each block keeps (largest, sum, weighted values) of
// its share, a second kernel joins them. Compiled for -DHEAD and -DGROUP (query heads per key head). A key's values are spread
// over HEAD / packed lanes, so a warp reads several keys at once, all query heads of the group using them.
constexpr int lanes = HEAD / packed, keysPerWarp = 32 / lanes, warps = 4, parts = warps * keysPerWarp, unroll = 4;

__device__ __forceinline__ void widenPack(float (&out)[packed], const Pack &pack) {
#pragma unroll
  for (int j = 0; j < packed; j++) out[j] = widen(pack.at[j]);
}

// Joins the parts of a block, in order. `head` counts rows and query heads; with several splits the result goes to `partial`.
template <int count>
__device__ __forceinline__ void joinParts(const float (&joined)[count][GROUP][HEAD + 4], const float (&tops)[count][GROUP],
                                          const float (&sums)[count][GROUP], real *out, float *logSumExp, float *partial, i64 head) {
  int split = blockIdx.x, splits = gridDim.x;
  for (int i = threadIdx.x; i < GROUP * HEAD; i += blockDim.x) {
    int g = i / HEAD, d = i % HEAD;
    float top = -infinity, weightSum = 0, value = 0;
    for (int p = 0; p < count; p++) top = fmaxf(top, tops[p][g]);
    for (int p = 0; p < count; p++) {
      float weight = tops[p][g] == -infinity ? 0.f : exp2f(tops[p][g] - top);
      weightSum += weight * sums[p][g];
      value += weight * joined[p][g][d];
    }
    i64 at = head + g;
    if (splits == 1) {
      narrow(out[at * HEAD + d], value / weightSum);
      if (d == 0) logSumExp[at] = (top + log2f(weightSum)) * 0.6931471805599453f;
    } else {
      float *to = partial + (at * splits + split) * (HEAD + 2);
      to[d] = value;
      if (d == 0) {
        to[HEAD] = top;
        to[HEAD + 1] = weightSum;
      }
    }
  }
}

// grid: splits, key heads, rows. With one split the result is final; otherwise parts go to `partial` [rows, heads, splits, HEAD + 2].
extern "C" __global__ void __launch_bounds__(128) decodeParts(real *out, float *logSumExp, float *partial, const real *q, const real *k,
                                                              const real *v, const Segment *segments, int keyHeads, float scale) {
  int split = blockIdx.x, splits = gridDim.x, keyHead = blockIdx.y, row = blockIdx.z;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, slice = lane % lanes * packed, part = warp * keysPerWarp + lane / lanes;
  Segment segment = segments[row];
  int total = segment.visible(segment.queryStart), heads = keyHeads * GROUP;
  int share = (total + splits - 1) / splits, begin = split * share, end = min(total, begin + share);
  i64 query = segment.queryStart;

  float x[GROUP][packed], most[GROUP], sum[GROUP], values[GROUP][packed];
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    widenPack(x[g], *(const Pack *)(q + (query * heads + keyHead * GROUP + g) * HEAD + slice));
#pragma unroll
    for (int j = 0; j < packed; j++) {
      x[g][j] *= scale * 1.4426950408889634f;
      values[g][j] = 0;
    }
    most[g] = -infinity;
    sum[g] = 0;
  }
  for (int base = begin; base < end; base += parts * unroll) {
    Pack keys[unroll], contents[unroll];
#pragma unroll
    for (int u = 0; u < unroll; u++) {
      int key = base + u * parts + part;
      i64 at = ((i64)segment.slot(min(key, total - 1)) * keyHeads + keyHead) * HEAD + slice;
      keys[u] = *(const Pack *)(k + at);
      contents[u] = *(const Pack *)(v + at);
    }
    float scores[unroll][GROUP];
#pragma unroll
    for (int u = 0; u < unroll; u++) {
      float key[packed];
      widenPack(key, keys[u]);
#pragma unroll
      for (int g = 0; g < GROUP; g++) {
        float score = 0;
#pragma unroll
        for (int j = 0; j < packed; j++) score = fmaf(x[g][j], key[j], score);
#pragma unroll
        for (int step = lanes / 2; step > 0; step /= 2) score += __shfl_xor_sync(~0u, score, step);
        scores[u][g] = base + u * parts + part < end ? score : -infinity;
      }
    }
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
      float top = most[g];
#pragma unroll
      for (int u = 0; u < unroll; u++) top = fmaxf(top, scores[u][g]);
      if (top == -infinity) continue;
      float shrink = exp2f(most[g] - top);
      most[g] = top;
      sum[g] *= shrink;
#pragma unroll
      for (int j = 0; j < packed; j++) values[g][j] *= shrink;
#pragma unroll
      for (int u = 0; u < unroll; u++) {
        float weight = exp2f(scores[u][g] - top);
        sum[g] += weight;
#pragma unroll
        for (int j = 0; j < packed; j++) values[g][j] = fmaf(weight, widen(contents[u].at[j]), values[g][j]);
      }
    }
  }

  __shared__ float joined[parts][GROUP][HEAD + 4], tops[parts][GROUP], sums[parts][GROUP];
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    for (int j = 0; j < packed; j++) joined[part][g][slice + j] = values[g][j];
    if (lane % lanes == 0) {
      tops[part][g] = most[g];
      sums[part][g] = sum[g];
    }
  }
  __syncthreads();
  joinParts<parts>(joined, tops, sums, out, logSumExp, partial, query * heads + keyHead * GROUP);
}

#if defined(REAL_BF16) && HEAD % 16 == 0 && GROUP <= 8
// The same on tensor cores: a warp takes every fourth tile of 16 keys, copied ahead to its own shared memory. The query heads of the group
// are the rows of its products, at most 8 of the 16 that a product has.
constexpr int tileKeys = 16, stages = 3, pitch = HEAD + 8, steps = HEAD / 16;

extern "C" __global__ void __launch_bounds__(128) decodeTiles(bf16 *out, float *logSumExp, float *partial, const bf16 *q, const bf16 *k,
                                                              const bf16 *v, const Segment *segments, int keyHeads, float scale) {
  extern __shared__ uint4 memory[];
  int split = blockIdx.x, splits = gridDim.x, keyHead = blockIdx.y, row = blockIdx.z;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, own = lane / 4, pair = lane % 4 * 2;
  Segment segment = segments[row];
  int total = segment.visible(segment.queryStart), heads = keyHeads * GROUP;
  int share = (total + splits - 1) / splits, begin = split * share, end = min(total, begin + share);
  i64 head = (i64)segment.queryStart * heads + keyHead * GROUP;
  bf16 *buffers = (bf16 *)memory + warp * stages * 2 * tileKeys * pitch;
  auto firstOf = [&](int t) { return begin + (t * warps + warp) * tileKeys; };
  auto prepare = [&](int t) {
    int first = firstOf(t);
    bf16 *keys = buffers + t % stages * 2 * tileKeys * pitch, *values = keys + tileKeys * pitch;
    if (first < end)
#pragma unroll
      for (int i = lane; i < tileKeys * HEAD / 8; i += 32) {
        int at = i / (HEAD / 8), column = i % (HEAD / 8) * 8;
        bool valid = first + at < end;
        i64 from = ((i64)segment.slot(valid ? first + at : first) * keyHeads + keyHead) * HEAD + column;
        copyAsync(keys + at * pitch + column, k + from, valid);
        copyAsync(values + at * pitch + column, v + from, valid);
      }
    commitCopies();
  };
  prepare(0);
  prepare(1);
  u32 x[steps][4];
#pragma unroll
  for (int s = 0; s < steps; s++) {
    const bf16 *from = q + (head + min(own, GROUP - 1)) * HEAD + 16 * s + pair;
    x[s][0] = own < GROUP ? *(const u32 *)from : 0;
    x[s][2] = own < GROUP ? *(const u32 *)(from + 8) : 0;
    x[s][1] = x[s][3] = 0;
  }
  float sum[2 * steps][4] = {}, most = -infinity, weightSum = 0, toLog2 = scale * 1.4426950408889634f;
  for (int t = 0; firstOf(t) < end; t++) {
    prepare(t + 2);
    awaitCopies<2>();
    __syncwarp();
    const bf16 *keys = buffers + t % stages * 2 * tileKeys * pitch, *values = keys + tileKeys * pitch;
    float scores[2][4] = {};
#pragma unroll
    for (int s = 0; s < steps; s++) {
      u32 y[4];
      loadRows<pitch>(y, keys, 0, 16 * s);
      multiplyAdd(scores[0], x[s], y[0], y[2]);
      multiplyAdd(scores[1], x[s], y[1], y[3]);
    }
    float top = most;
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int c = 0; c < 2; c++) {
        scores[j][c] = firstOf(t) + 8 * j + pair + c < end ? scores[j][c] * toLog2 : -infinity;
        top = fmaxf(top, scores[j][c]);
      }
    top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
    top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
    float shrink = powerOfTwo(most - top);
    most = top;
    weightSum *= shrink;
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int c = 0; c < 2; c++) {
        scores[j][c] = powerOfTwo(scores[j][c] - top);
        weightSum += scores[j][c];
      }
#pragma unroll
    for (int j = 0; j < 2 * steps; j++) {
      sum[j][0] *= shrink;
      sum[j][1] *= shrink;
    }
    u32 weights[4] = {packPair(scores[0][0], scores[0][1]), 0, packPair(scores[1][0], scores[1][1]), 0};
#pragma unroll
    for (int j = 0; j < steps; j++) {
      u32 y[4];
      loadColumnsAsB<pitch>(y, values, 0, 16 * j);
      multiplyAdd(sum[2 * j], weights, y[0], y[1]);
      multiplyAdd(sum[2 * j + 1], weights, y[2], y[3]);
    }
    __syncwarp();
  }
  awaitCopies<0>();
  weightSum += __shfl_xor_sync(~0u, weightSum, 1);
  weightSum += __shfl_xor_sync(~0u, weightSum, 2);
  __syncthreads();
  // The tiles' memory is free now.
  float(&joined)[warps][GROUP][HEAD + 4] = *(float(*)[warps][GROUP][HEAD + 4]) memory;
  __shared__ float tops[warps][GROUP], sums[warps][GROUP];
  if (own < GROUP) {
#pragma unroll
    for (int j = 0; j < 2 * steps; j++) *(float2 *)&joined[warp][own][8 * j + pair] = {sum[j][0], sum[j][1]};
    if (pair == 0) {
      tops[warp][own] = most;
      sums[warp][own] = weightSum;
    }
  }
  __syncthreads();
  joinParts<warps>(joined, tops, sums, out, logSumExp, partial, head);
}
#endif

// One block of HEAD threads (rounded up to warps) per row and head.
extern "C" __global__ void decodeJoin(real *out, float *logSumExp, const float *partial, int splits) {
  i64 at = blockIdx.x;
  int d = threadIdx.x;
  const float *from = partial + at * splits * (HEAD + 2);
  float top = -infinity, weightSum = 0, value = 0;
  for (int s = 0; s < splits; s++) top = fmaxf(top, from[s * (HEAD + 2) + HEAD]);
  for (int s = 0; s < splits; s++) {
    float most = from[s * (HEAD + 2) + HEAD];
    float weight = most == -infinity ? 0.f : exp2f(most - top);
    weightSum += weight * from[s * (HEAD + 2) + HEAD + 1];
    if (d < HEAD) value += weight * from[s * (HEAD + 2) + d];
  }
  if (d < HEAD) narrow(out[at * HEAD + d], value / weightSum);
  if (d == 0) logSumExp[at] = (top + log2f(weightSum)) * 0.6931471805599453f;
}
