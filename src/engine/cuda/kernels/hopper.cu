// The kernels of flash.cu for Hopper and heads of 64 or 128: a block is one warpgroup, its tiles lie in panels (warpgroup.cuh), and
// products run beside the arithmetic between them. Same parameters, same grids, same order of sums.
constexpr int tileElements = tile * HEAD;

__device__ __forceinline__ bf16 *panels(void *memory) { return (bf16 *)(((u64)memory + groupBytes - 1) / groupBytes * groupBytes); }

// Rows `slot(i)` of x [·, heads, HEAD] for i from `start` to `end`, to panels; zeros beyond.
template <class Slot>
__device__ __forceinline__ void fetch(bf16 *to, const bf16 *x, int heads, int head, int start, int end, Slot slot) {
  constexpr int chunks = HEAD / 8, rowsPerPass = threads / chunks;
  int chunk = threadIdx.x % chunks, first = threadIdx.x / chunks;
  const bf16 *column = x + (i64)head * HEAD + chunk * 8;
  bf16 *target = to + chunk / 8 * panelElements;
#pragma unroll
  for (int pass = 0; pass < tile / rowsPerPass; pass++) {
    int row = first + pass * rowsPerPass;
    copyAsync(target + row * 64 + (chunk ^ row) % 8 * 8, column + (i64)slot(start + row) * (heads * HEAD), start + row < end);
  }
  commitCopies();
}

// sum [64 × 64] = rows of `left` · rows of `right`, over the head. Queued only.
__device__ __forceinline__ void multiplyRows(float (&sum)[8][4], const bf16 *left, const bf16 *right) {
  multiplyShared<false, false>(sum, describePanels(left), describePanels(right));
#pragma unroll
  for (int s = 1; s < HEAD / 16; s++) {
    int at = s / 4 * panelElements + s % 4 * 16;
    multiplyShared<true, false>(sum, describePanels(left + at), describePanels(right + at));
  }
  commitProducts();
}
__device__ __forceinline__ void packWeights(u32 (&out)[4][4], const float (&weights)[8][4]) {
#pragma unroll
  for (int k = 0; k < 4; k++)
#pragma unroll
    for (int i = 0; i < 4; i++) out[k][i] = packPair(weights[2 * k + i / 2][i % 2 * 2], weights[2 * k + i / 2][i % 2 * 2 + 1]);
}
// sum [64 × HEAD] += weights [64 × 64] · rows of `right` [64 × HEAD]. Queued only.
__device__ __forceinline__ void addWeighted(float (&sum)[2 * steps][4], const u32 (&weights)[4][4], const bf16 *right) {
#pragma unroll
  for (int k = 0; k < 4; k++) multiplyRegisters(sum, weights[k], describePanels(right + k * 16 * 64));
  commitProducts();
}
template <int pending> __device__ __forceinline__ void awaitTiles() {
  awaitCopies<pending>();
  showShared();
  __syncthreads();
}

// Weights are added up beside the product of the next scores. grid: tiles of queries (an upper bound), heads.
extern "C" __global__ void __launch_bounds__(128, 3) flash(bf16 *out, float *logSumExp, const bf16 *q, const bf16 *k, const bf16 *v,
                                                           const Segment *segments, int count, int heads, int keyHeads, float scale) {
  extern __shared__ uint4 memory[];
  bf16 *queries = panels(memory), *keys = queries + tileElements, *values = keys + tileElements;
  Tile at = findTile(segments, count);
  if (!at.valid) return;
  Segment segment = at.segment;
  int head = blockIdx.y, keyHead = head * keyHeads / heads, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto slot = [&](int key) { return segment.slot(key); };
  fetch(queries, q, heads, head, at.start, segment.queryEnd, [](int i) { return i; });
  int end = segment.visible(min(at.start + tile, segment.queryEnd) - 1);
  int row[2], visible[2];
  for (int half = 0; half < 2; half++) {
    row[half] = at.start + warp * 16 + lane / 4 + 8 * half;
    visible[half] = segment.visible(min(row[half], segment.queryEnd - 1));
  }
  float sum[2 * steps][4] = {}, most[2] = {-infinity, -infinity}, total[2] = {0, 0};
  float toLog2 = scale * log2e;
  fetch(keys, k, keyHeads, keyHead, 0, end, slot);
  u32 weights[4][4] = {};
  for (int start = 0; start < end; start += tile) {
    float scores[8][4];
    awaitTiles<0>();
    beginProducts();
    holdSums(sum);
    addWeighted(sum, weights, start == 0 ? keys : values);
    multiplyRows(scores, queries, keys);
    awaitProducts<0>();
    holdSums(sum);
    holdSums(scores);
    __syncthreads();
    fetch(values, v, keyHeads, keyHead, start, end, slot);
    if (start + tile < end) fetch(keys, k, keyHeads, keyHead, start + tile, end, slot);
    if (start + tile > segment.visible(at.start)) {
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int c = 0; c < 4; c++)
          if (start + 8 * j + lane % 4 * 2 + c % 2 >= visible[c / 2]) scores[j][c] = -infinity;
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float top = most[half];
#pragma unroll
      for (int j = 0; j < 8; j++) top = fmaxf(top, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
      top = maxFour(top);
      float shrink = powerOfTwo((most[half] - top) * toLog2), added = 0, shift = top * toLog2;
      most[half] = top;
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int c = 2 * half; c < 2 * half + 2; c++) {
          scores[j][c] = powerOfTwo(scores[j][c] * toLog2 - shift);
          added += scores[j][c];
        }
      total[half] = total[half] * shrink + added;
#pragma unroll
      for (int j = 0; j < 2 * steps; j++) {
        sum[j][2 * half] *= shrink;
        sum[j][2 * half + 1] *= shrink;
      }
    }
    packWeights(weights, scores);
  }
  awaitTiles<0>();
  beginProducts();
  holdSums(sum);
  addWeighted(sum, weights, values);
  awaitProducts<0>();
  holdSums(sum);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float whole = sumFour(total[half]);
    if (row[half] >= segment.queryEnd) continue;
    i64 to = (i64)row[half] * heads + head;
    storeRow(out + to * HEAD, sum, half, 1.f / whole);
    if (lane % 4 == 0) logSumExp[to] = most[half] * scale + logf(whole);
  }
}

// dq of 64 queries. Two buffers of keys and values: the next are on their way while these are worked on, and weights are added up
// beside the products of the next scores.
extern "C" __global__ void __launch_bounds__(128, 2) flashQueryGradient(bf16 *dq, const bf16 *dOut, const float *delta, const float *logSumExp,
                                                                        const bf16 *q, const bf16 *k, const bf16 *v, const Segment *segments,
                                                                        int count, int heads, int keyHeads, float scale) {
  extern __shared__ uint4 memory[];
  bf16 *queries = panels(memory), *upstream = queries + tileElements, *buffers = upstream + tileElements;
  Tile at = findTile(segments, count);
  if (!at.valid) return;
  Segment segment = at.segment;
  int head = blockIdx.y, keyHead = head * keyHeads / heads, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto slot = [&](int key) { return segment.slot(key); };
  auto same = [](int i) { return i; };
  int end = segment.visible(min(at.start + tile, segment.queryEnd) - 1);
  auto prepare = [&](int start, int which) {
    fetch(buffers + 2 * which * tileElements, k, keyHeads, keyHead, start, end, slot);
    fetch(buffers + (2 * which + 1) * tileElements, v, keyHeads, keyHead, start, end, slot);
  };
  fetch(queries, q, heads, head, at.start, segment.queryEnd, same);
  fetch(upstream, dOut, heads, head, at.start, segment.queryEnd, same);
  prepare(0, 0);
  int row[2], visible[2];
  float normaliser[2], mean[2], toLog2 = scale * log2e;
  for (int half = 0; half < 2; half++) {
    row[half] = at.start + warp * 16 + lane / 4 + 8 * half;
    int query = min(row[half], segment.queryEnd - 1);
    visible[half] = segment.visible(query);
    normaliser[half] = logSumExp[(i64)query * heads + head] * log2e;
    mean[half] = delta[(i64)query * heads + head];
  }
  float sum[2 * steps][4] = {};
  u32 weights[4][4] = {};
  const bf16 *earlier = buffers;
  for (int start = 0, which = 0; start < end; start += tile, which ^= 1) {
    const bf16 *keys = buffers + 2 * which * tileElements, *values = keys + tileElements;
    float scores[8][4], slopes[8][4];
    awaitTiles<0>();
    beginProducts();
    holdSums(sum);
    addWeighted(sum, weights, earlier);
    multiplyRows(scores, queries, keys);
    multiplyRows(slopes, upstream, values);
    // The earlier keys' buffer is free.
    awaitProducts<2>();
    holdSums(sum);
    __syncthreads();
    if (start + tile < end) prepare(start + tile, which ^ 1);
    awaitProducts<1>();
    holdSums(scores);
    if (start + tile > segment.visible(at.start)) {
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int c = 0; c < 4; c++)
          if (start + 8 * j + lane % 4 * 2 + c % 2 >= visible[c / 2]) scores[j][c] = -infinity;
    }
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) scores[j][c] = powerOfTwo(scores[j][c] * toLog2 - normaliser[c / 2]);
    awaitProducts<0>();
    holdSums(slopes);
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) scores[j][c] *= slopes[j][c] - mean[c / 2];
    packWeights(weights, scores);
    earlier = keys;
  }
  beginProducts();
  holdSums(sum);
  addWeighted(sum, weights, earlier);
  awaitProducts<0>();
  holdSums(sum);
#pragma unroll
  for (int half = 0; half < 2; half++)
    if (row[half] < segment.queryEnd) storeRow(dq + ((i64)row[half] * heads + head) * HEAD, sum, half, scale);
}

// What a block works on, kept in shared memory: registers are full of sums.
struct Item {
  int start, head, from, until, queryEnd, part, valid;
};

// dk and dv of 64 keys: rows of the products are keys. grid: key heads, tiles of keys.
extern "C" __global__ void __launch_bounds__(128, 2) flashKeyGradient(bf16 *dk, bf16 *dv, const bf16 *dOut, const float *delta,
                                                                      const float *logSumExp, const bf16 *q, const bf16 *k, const bf16 *v,
                                                                      const Segment *segments, int count, int keyCount, int heads,
                                                                      int keyHeads, float scale, int spread) {
  extern __shared__ uint4 memory[];
  bf16 *keys = panels(memory), *values = keys + tileElements, *buffers = values + tileElements;
  __shared__ float normalisers[2][tile], means[2][tile];
  __shared__ Cursor cursor;
  __shared__ Item items[4];
  int firstKey = keyTile(spread) * tile, lastKey = min(keyCount, firstKey + tile), keyHead = blockIdx.x, group = heads / keyHeads;
  if (firstKey >= keyCount) return;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto same = [](int i) { return i; };
  auto find = [&](int i) {
    cursor.seek(segments, count, firstKey, lastKey, group);
    items[i % 4] = {cursor.start, keyHead * group + cursor.head, cursor.from, cursor.until, cursor.segment.queryEnd, cursor.part,
                    cursor.index < count};
  };
  auto prepare = [&](int i) {
    Item item = items[i % 4];
    if (!item.valid) return;
    bf16 *buffer = buffers + i % 2 * 2 * tileElements;
    fetch(buffer, q, heads, item.head, item.start, item.queryEnd, same);
    fetch(buffer + tileElements, dOut, heads, item.head, item.start, item.queryEnd, same);
    if (threadIdx.x < tile) {
      i64 query = min(item.start + (int)threadIdx.x, item.queryEnd - 1);
      normalisers[i % 2][threadIdx.x] = logSumExp[query * heads + item.head] * log2e;
      means[i % 2][threadIdx.x] = delta[query * heads + item.head];
    }
  };
  fetch(keys, k, keyHeads, keyHead, firstKey, lastKey, same);
  fetch(values, v, keyHeads, keyHead, firstKey, lastKey, same);
  if (threadIdx.x == 0) {
    cursor = unstarted();
    find(0);
    if (items[0].valid) find(1);
  }
  __syncthreads();
  prepare(0);
  float sumKey[2 * steps][4] = {}, sumValue[2 * steps][4] = {}, toLog2 = scale * log2e;
  u32 changes[4][4] = {};
  const bf16 *earlier = keys;
  for (int i = 0; items[i % 4].valid; i++) {
    const bf16 *queries = buffers + i % 2 * 2 * tileElements, *upstream = queries + tileElements;
    const float *normaliser = normalisers[i % 2] + lane % 4 * 2, *mean = means[i % 2] + lane % 4 * 2;
    float scores[8][4], slopes[8][4];
    awaitTiles<0>();
    beginProducts();
    holdSums(sumKey);
    addWeighted(sumKey, changes, earlier);
    multiplyRows(scores, keys, queries);
    multiplyRows(slopes, values, upstream);
    // The earlier queries' buffer is free.
    awaitProducts<2>();
    holdSums(sumKey);
    __syncthreads();
    prepare(i + 1);
    if (threadIdx.x == 0 && items[(i + 1) % 4].valid) find(i + 2);
    awaitProducts<1>();
    holdSums(scores);
    const Item &item = items[i % 4];
    bool whole = firstKey >= item.from && lastKey <= item.until && item.start + tile <= item.queryEnd &&
                 (item.part == 0 || lastKey <= item.until - (item.queryEnd - 1 - item.start));
    if (whole) {
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int c = 0; c < 4; c++) scores[j][c] = powerOfTwo(scores[j][c] * toLog2 - normaliser[8 * j + c % 2]);
    } else {
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
          int query = item.start + 8 * j + lane % 4 * 2 + c % 2, mine = firstKey + warp * 16 + lane / 4 + c / 2 * 8;
          bool seen = (mine >= item.from) & (mine < item.until) & (query < item.queryEnd) &
                      ((item.part == 0) | (mine < item.until - (item.queryEnd - 1 - query)));
          float chance = powerOfTwo(scores[j][c] * toLog2 - normaliser[8 * j + c % 2]);
          scores[j][c] = seen ? chance : 0.f;
        }
    }
    u32 weights[4][4];
    packWeights(weights, scores);
    beginProducts();
    holdSums(sumValue);
    addWeighted(sumValue, weights, upstream);
    awaitProducts<1>();
    holdSums(slopes);
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) scores[j][c] *= slopes[j][c] - mean[8 * j + c % 2];
    packWeights(changes, scores);
    earlier = queries;
    awaitProducts<0>();
    holdSums(sumValue);
  }
  awaitTiles<0>();
  beginProducts();
  holdSums(sumKey);
  addWeighted(sumKey, changes, earlier);
  awaitProducts<0>();
  holdSums(sumKey);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    int key = firstKey + warp * 16 + lane / 4 + 8 * half;
    if (key >= lastKey) continue;
    storeRow(dk + ((i64)key * keyHeads + keyHead) * HEAD, sumKey, half, scale);
    storeRow(dv + ((i64)key * keyHeads + keyHead) * HEAD, sumValue, half, 1.f);
  }
}
