// Attention of one query per row over a cache, its keys split over blocks: each block keeps (largest, sum, weighted values) of
// its share, a second kernel joins them. Compiled for -DHEAD and -DGROUP (query heads per key head). A key's values are spread
// over HEAD / packed lanes, so a warp reads several keys at once, all query heads of the group using them.
constexpr int lanes = HEAD / packed, keysPerWarp = 32 / lanes, warps = 4, parts = warps * keysPerWarp, unroll = 4;

__device__ __forceinline__ void widenPack(float (&out)[packed], const Pack &pack) {
#pragma unroll
  for (int j = 0; j < packed; j++) out[j] = widen(pack.at[j]);
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

  // Join the parts of the block, in order.
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
  for (int i = threadIdx.x; i < GROUP * HEAD; i += blockDim.x) {
    int g = i / HEAD, d = i % HEAD;
    float top = -infinity, weightSum = 0, value = 0;
    for (int p = 0; p < parts; p++) top = fmaxf(top, tops[p][g]);
    for (int p = 0; p < parts; p++) {
      float weight = tops[p][g] == -infinity ? 0.f : exp2f(tops[p][g] - top);
      weightSum += weight * sums[p][g];
      value += weight * joined[p][g][d];
    }
    i64 at = query * heads + keyHead * GROUP + g;
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
