// Attention of one query per row over a cache, its keys split over blocks: each block keeps (largest, sum, weighted values) of
// its share, a second kernel joins them. Compiled for -DHEAD and -DGROUP (query heads per key head). A key's values are spread
// over HEAD / packed lanes, so a warp reads several keys at once, all query heads of the group using them.
constexpr int lanes = HEAD / packed, keysPerWarp = 32 / lanes, warps = 4, parts = warps * keysPerWarp, unroll = 4;

__device__ __forceinline__ void widenPack(float (&out)[packed], const Pack &pack) {
#pragma unroll
  for (int j = 0; j < packed; j++) out[j] = widen(pack.at[j]);
}

// Joins the parts of a block, in order: `parts` of `queries` heads each. `headOf` counts rows and query heads; with several splits the
// result goes to `partial`.
template <int parts, int queries, class HeadOf>
__device__ __forceinline__ void joinParts(const float (&joined)[parts][queries][HEAD + 4], const float (&tops)[parts][queries],
                                          const float (&sums)[parts][queries], real *out, float *logSumExp, float *partial, int count,
                                          HeadOf headOf) {
  int split = blockIdx.x, splits = gridDim.x;
  for (int i = threadIdx.x; i < count * HEAD; i += blockDim.x) {
    int query = i / HEAD, d = i % HEAD;
    float top = -infinity, weightSum = 0, value = 0;
    for (int p = 0; p < parts; p++) top = fmaxf(top, tops[p][query]);
    for (int p = 0; p < parts; p++) {
      float weight = tops[p][query] == -infinity ? 0.f : exp2f(tops[p][query] - top);
      weightSum += weight * sums[p][query];
      value += weight * joined[p][query][d];
    }
    i64 at = headOf(query);
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
  i64 head = query * heads + keyHead * GROUP;
  joinParts(joined, tops, sums, out, logSumExp, partial, GROUP, [=](int g) { return head + g; });
}

#if defined(REAL_BF16) && HEAD % 16 == 0 && GROUP <= 8
// The same on tensor cores. The query heads of neighbouring rows that share their prefix are the 16 rows of its products, so that
// a prompt is read once for several of its completions: a block for each such piece. A warp takes every
// (4 · splits)-th tile of 16 keys of the prefix, then of each row's own keys, copied ahead to its own shared memory.
constexpr int tileKeys = 16, tileQueries = 16, mostRows = tileQueries / GROUP, stages = 3, pitch = HEAD + 8, steps = HEAD / 16;

__device__ __forceinline__ bool samePrefix(const Segment &a, const Segment &b) {
  return a.prefixEnd > a.prefixStart && a.prefixStart == b.prefixStart && a.prefixEnd == b.prefixEnd;
}

// The first row of a piece: neighbouring rows with the same prefix, cut into pieces of `mostRows`. Where all pieces are whole, that is known.
__device__ __forceinline__ int firstRow(const Segment *segments, int count, int piece, bool allWhole) {
  if (allWhole) return piece * mostRows;
  int lane = threadIdx.x % 32, runStart = 0, seen = 0;
  for (int base = 0;; base += 32) {
    int row = base + lane;
    bool starts = row < count && (row == 0 || !samePrefix(segments[row], segments[row - 1]));
    u32 upToOwn = __ballot_sync(~0u, starts) & (~0u >> (31 - lane));
    int run = upToOwn == 0 ? runStart : base + 31 - __clz(upToOwn);
    u32 leaders = __ballot_sync(~0u, row < count && (row - run) % mostRows == 0);
    if (seen + __popc(leaders) > piece) {
      for (; seen < piece; seen++) leaders &= leaders - 1;
      return base + __ffs(leaders) - 1;
    }
    seen += __popc(leaders);
    runStart = __shfl_sync(~0u, run, 31);
  }
}

// A tile of keys that some rows see: all of them (the prefix), or one (its own keys).
struct Tile {
  int part, first, slot, end;
};

extern "C" __global__ void __launch_bounds__(128) decodeTiles(bf16 *out, float *logSumExp, float *partial, const bf16 *q, const bf16 *k,
                                                              const bf16 *v, const Segment *segments, int keyHeads, float scale, int count,
                                                              int allWhole) {
  extern __shared__ uint4 memory[];
  awaitBefore();
  int split = blockIdx.x, splits = gridDim.x, keyHead = blockIdx.y, row = firstRow(segments, count, blockIdx.z, allWhole);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, ownQuery = lane / 4, pair = lane % 4 * 2, heads = keyHeads * GROUP;
  // Lane i looks at row i of the piece: how many rows share the prefix, and where their keys lie. Part 0 is the prefix, part i + 1 the own
  // keys of row i.
  __shared__ int slots[mostRows + 1], lengths[mostRows + 1];
  Segment own = segments[min(row + lane, count - 1)], first = segments[row];
  u32 sharing = __ballot_sync(~0u, lane == 0 || (lane < mostRows && row + lane < count && samePrefix(first, own)));
  int rows = __ffs(~sharing) - 1, queries = rows * GROUP;
  if (threadIdx.x < rows) {
    slots[lane + 1] = own.keyStart;
    lengths[lane + 1] = own.keyEnd - own.keyStart;
  }
  if (threadIdx.x == 0) {
    slots[0] = own.prefixStart;
    lengths[0] = own.prefixEnd - own.prefixStart;
  }
  __syncthreads();
  bf16 *buffers = (bf16 *)memory + warp * stages * 2 * tileKeys * pitch;
  auto headOf = [=](int query) { return (i64)(row + query / GROUP) * heads + keyHead * GROUP + query % GROUP; };

  int firstTile = (split * warps + warp) * tileKeys, stride = splits * warps * tileKeys;
  auto partAt = [&](int part) -> Tile {
    if (part > rows) return {part, 0, 0, 0};
    return {part, firstTile, slots[part], lengths[part]};
  };
  auto skipEmpty = [&](Tile tile) {
    while (tile.first >= tile.end && tile.part <= rows) tile = partAt(tile.part + 1);
    return tile;
  };
  auto next = [&](Tile tile) {
    tile.first += stride;
    return skipEmpty(tile);
  };
  auto prepare = [&](Tile tile, int stage) {
    bf16 *keys = buffers + stage * 2 * tileKeys * pitch, *values = keys + tileKeys * pitch;
    if (tile.part <= rows)
#pragma unroll
      for (int i = lane; i < tileKeys * HEAD / 8; i += 32) {
        int at = i / (HEAD / 8), column = i % (HEAD / 8) * 8;
        bool valid = tile.first + at < tile.end;
        i64 from = ((i64)(tile.slot + tile.first + (valid ? at : 0)) * keyHeads + keyHead) * HEAD + column;
        copyAsync(keys + at * pitch + column, k + from, valid);
        copyAsync(values + at * pitch + column, v + from, valid);
      }
    commitCopies();
  };
  Tile tile = skipEmpty(partAt(0)), ahead = tile;
  for (int stage = 0; stage < stages - 1; stage++) {
    prepare(ahead, stage);
    ahead = next(ahead);
  }

  u32 x[steps][4];
#pragma unroll
  for (int s = 0; s < steps; s++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      int query = ownQuery + 8 * half;
      const bf16 *from = q + headOf(min(query, queries - 1)) * HEAD + 16 * s + pair;
      x[s][half] = query < queries ? *(const u32 *)from : 0;
      x[s][half + 2] = query < queries ? *(const u32 *)(from + 8) : 0;
    }
  float sum[2 * steps][4] = {}, most[2] = {-infinity, -infinity}, weightSum[2] = {}, toLog2 = scale * 1.4426950408889634f;
  for (int stage = 0; tile.part <= rows; stage = (stage + 1) % stages, tile = next(tile)) {
    prepare(ahead, (stage + stages - 1) % stages);
    ahead = next(ahead);
    awaitCopies<stages - 1>();
    __syncwarp();
    const bf16 *keys = buffers + stage * 2 * tileKeys * pitch, *values = keys + tileKeys * pitch;
    float scores[2][4] = {};
#pragma unroll
    for (int s = 0; s < steps; s++) {
      u32 y[4];
      loadRows<pitch>(y, keys, 0, 16 * s);
      multiplyAdd(scores[0], x[s], y[0], y[2]);
      multiplyAdd(scores[1], x[s], y[1], y[3]);
    }
    float shrink[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
      bool sees = tile.part == 0 || (ownQuery + 8 * half) / GROUP == tile.part - 1;
      float top = most[half];
#pragma unroll
      for (int j = 0; j < 2; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) {
          float &score = scores[j][2 * half + c];
          score = sees && tile.first + 8 * j + pair + c < tile.end ? score * toLog2 : -infinity;
          top = fmaxf(top, score);
        }
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
      // Before a row's first key there is nothing to compare with.
      float level = top == -infinity ? 0.f : top;
      shrink[half] = powerOfTwo(most[half] - level);
      most[half] = top;
      weightSum[half] *= shrink[half];
#pragma unroll
      for (int j = 0; j < 2; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) {
          float &score = scores[j][2 * half + c];
          score = powerOfTwo(score - level);
          weightSum[half] += score;
        }
    }
#pragma unroll
    for (int j = 0; j < 2 * steps; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) sum[j][c] *= shrink[c / 2];
    u32 weights[4] = {packPair(scores[0][0], scores[0][1]), packPair(scores[0][2], scores[0][3]), packPair(scores[1][0], scores[1][1]),
                      packPair(scores[1][2], scores[1][3])};
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
  __syncthreads();
  // The tiles' memory is free now.
  float(&joined)[warps][tileQueries][HEAD + 4] = *(float(*)[warps][tileQueries][HEAD + 4]) memory;
  __shared__ float tops[warps][tileQueries], sums[warps][tileQueries];
#pragma unroll
  for (int half = 0; half < 2; half++) {
    int query = ownQuery + 8 * half;
    weightSum[half] += __shfl_xor_sync(~0u, weightSum[half], 1);
    weightSum[half] += __shfl_xor_sync(~0u, weightSum[half], 2);
#pragma unroll
    for (int j = 0; j < 2 * steps; j++) *(float2 *)&joined[warp][query][8 * j + pair] = {sum[j][2 * half], sum[j][2 * half + 1]};
    if (pair == 0) {
      tops[warp][query] = most[half];
      sums[warp][query] = weightSum[half];
    }
  }
  __syncthreads();
  joinParts(joined, tops, sums, out, logSumExp, partial, queries, headOf);
}
#endif

// One block of HEAD threads (rounded up to warps) per row and head.
extern "C" __global__ void decodeJoin(real *out, float *logSumExp, const float *partial, int splits) {
  awaitBefore();
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
