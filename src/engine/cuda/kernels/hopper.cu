// The kernels of flash.cu for Hopper and heads of 64 or 128: tiles lie in panels (warpgroup.cuh), and products run beside the arithmetic
// between them. Compiled for -DHEAD and -DSHARING: how many warpgroups, each with a query head of its own, share keys in the gradient of
// queries.
constexpr int stages = 4;

// sum [64 × 64] = rows of `left` · rows of `right`, over the head. The product is only queued.
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
// sum [64 × HEAD] += weights [64 × 64] · rows of `right` [64 × HEAD]. The product is only queued.
__device__ __forceinline__ void addWeighted(float (&sum)[2 * steps][4], const u32 (&weights)[4][4], const bf16 *right) {
#pragma unroll
  for (int k = 0; k < 4; k++) multiplyRegisters(sum, weights[k], describePanels(right + k * 16 * 64));
  commitProducts();
}
// Forward: weights are added up beside the product of the next scores. grid: tiles of queries (an upper bound), heads.
extern "C" __global__ void __launch_bounds__(128, 3) flash(bf16 *out, float *logSumExp, const bf16 *q, const bf16 *k, const bf16 *v,
                                                           const Segment *segments, int count, int heads, int keyHeads, float scale) {
  extern __shared__ uint4 memory[];
  bf16 *queries = panels(memory), *keys = queries + tileElements, *values = keys + tileElements;
  Tile at = findTile(segments, count);
  if (!at.valid) return;
  Segment segment = at.segment;
  int head = blockIdx.y, keyHead = head * keyHeads / heads, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto slot = [&](int key) { return segment.slot(key); };
  auto queryOf = [&](int i) { return max(i, segment.queryStart); };
  fetch<128>(queries, q, heads, head, at.start, segment.queryEnd, queryOf);
  int end = segment.visible(min(at.start + tile, segment.queryEnd) - 1);
  int row[2], visible[2];
  for (int half = 0; half < 2; half++) {
    row[half] = at.start + warp * 16 + lane / 4 + 8 * half;
    visible[half] = segment.visible(queryOf(min(row[half], segment.queryEnd - 1)));
  }
  float sum[2 * steps][4] = {}, most[2] = {-infinity, -infinity}, total[2] = {0, 0};
  float toLog2 = scale * log2e;
  fetch<128>(keys, k, keyHeads, keyHead, 0, end, slot);
  commitCopies();
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
    fetch<128>(values, v, keyHeads, keyHead, start, end, slot);
    if (start + tile < end) fetch<128>(keys, k, keyHeads, keyHead, start + tile, end, slot);
    commitCopies();
    if (start + tile > segment.visible(at.start)) hideUnseen(scores, start, visible);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float shrink = weigh(scores, half, most[half], total[half], toLog2);
      if (__any_sync(~0u, shrink != 1.f))
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
    if (row[half] < segment.queryStart || row[half] >= segment.queryEnd) continue;
    i64 to = (i64)row[half] * heads + head;
    storeRow(out + to * HEAD, sum, half, 1.f / whole);
    if (lane % 4 == 0) logSumExp[to] = most[half] * scale + logf(whole);
  }
}

// dq of 64 queries of SHARING neighbouring heads, a warpgroup each. Keys and values are on their way two tiles ahead, and weights are
// added up beside the products of the next scores. grid: tiles of queries (an upper bound), heads / SHARING.
extern "C" __global__ void __launch_bounds__(128 * SHARING, 1) flashQueryGradient(bf16 *dq, const bf16 *dOut, const float *delta,
                                                                                  const float *logSumExp, const bf16 *q, const bf16 *k,
                                                                                  const bf16 *v, const Segment *segments, int count,
                                                                                  int heads, int keyHeads, float scale) {
  extern __shared__ uint4 memory[];
  bf16 *first = panels(memory), *buffers = first + 2 * SHARING * tileElements;
  Tile at = findTile(segments, count);
  if (!at.valid) return;
  Segment segment = at.segment;
  int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  int firstHead = blockIdx.y * SHARING, head = firstHead + group, keyHead = firstHead * keyHeads / heads;
  int end = segment.visible(min(at.start + tile, segment.queryEnd) - 1);
  auto slot = [&](int key) { return segment.slot(key); };
  auto queryOf = [&](int i) { return max(i, segment.queryStart); };
  auto prepare = [&](int start, int stage) {
    bf16 *to = buffers + stage * 2 * tileElements;
    if (start < end) {
      fetch<128 * SHARING>(to, k, keyHeads, keyHead, start, end, slot);
      fetch<128 * SHARING>(to + tileElements, v, keyHeads, keyHead, start, end, slot);
    }
    commitCopies();
  };
#pragma unroll
  for (int other = 0; other < SHARING; other++) {
    fetch<128 * SHARING>(first + 2 * other * tileElements, q, heads, firstHead + other, at.start, segment.queryEnd, queryOf);
    fetch<128 * SHARING>(first + (2 * other + 1) * tileElements, dOut, heads, firstHead + other, at.start, segment.queryEnd, queryOf);
  }
  prepare(0, 0);
  prepare(tile, 1);
  const bf16 *queries = first + 2 * group * tileElements, *upstream = queries + tileElements;
  int row[2], visible[2];
  float normaliser[2], mean[2], toLog2 = scale * log2e;
  for (int half = 0; half < 2; half++) {
    row[half] = at.start + warp * 16 + lane / 4 + 8 * half;
    int query = queryOf(min(row[half], segment.queryEnd - 1));
    visible[half] = segment.visible(query);
    normaliser[half] = logSumExp[(i64)query * heads + head] * log2e;
    mean[half] = delta[(i64)query * heads + head];
  }
  float sum[2 * steps][4] = {};
  u32 weights[4][4] = {};
  const bf16 *earlier = buffers;
  for (int start = 0, stage = 0; start < end; start += tile, stage = (stage + 1) % stages) {
    const bf16 *keys = buffers + stage * 2 * tileElements, *values = keys + tileElements;
    float scores[8][4], slopes[8][4];
    awaitTiles<1>();
    prepare(start + 2 * tile, (stage + 2) % stages);
    beginProducts();
    holdSums(sum);
    addWeighted(sum, weights, earlier);
    multiplyRows(scores, queries, keys);
    multiplyRows(slopes, upstream, values);
    awaitProducts<1>();
    holdSums(sum);
    holdSums(scores);
    if (start + tile > segment.visible(at.start)) hideUnseen(scores, start, visible);
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
  awaitCopies<0>();
  beginProducts();
  holdSums(sum);
  addWeighted(sum, weights, earlier);
  awaitProducts<0>();
  holdSums(sum);
#pragma unroll
  for (int half = 0; half < 2; half++)
    if (row[half] >= segment.queryStart && row[half] < segment.queryEnd)
      storeRow(dq + ((i64)row[half] * heads + head) * HEAD, sum, half, scale);
}

// What a block works on, kept in shared memory: registers are full of sums.
struct Item {
  int start, head, from, until, queryStart, queryEnd, part, valid;
  // Number of the pair of these queries and the tile of keys that begins at key 0, if it were one of the part.
  int pair;
};
constexpr int itemRing = 8;

// dk and dv of 128 keys, 64 a warpgroup: rows of the products are keys. Queries are on their way two items ahead. Gradients of scores are
// stored, unless `pairs` is null. grid: key heads from `firstKeyHead` on, tiles of 128 keys.
extern "C" __global__ void __launch_bounds__(256, 1) flashKeyGradient(bf16 *dk, bf16 *dv, const bf16 *dOut, const float *delta,
                                                                      const float *logSumExp, const bf16 *q, const bf16 *k, const bf16 *v,
                                                                      const Segment *segments, int count, int keyCount, int heads,
                                                                      int keyHeads, float scale, int spread, int firstKeyHead,
                                                                      bf16 *pairs, int pairsPerHead) {
  extern __shared__ uint4 memory[];
  bf16 *first = panels(memory), *buffers = first + 4 * tileElements;
  __shared__ float normalisers[stages][tile], means[stages][tile];
  __shared__ Cursor cursor;
  __shared__ Item items[itemRing];
  int firstKey = keyTile(spread) * 2 * tile, lastKey = min(keyCount, firstKey + 2 * tile);
  int keyHead = firstKeyHead + blockIdx.x, group = heads / keyHeads;
  if (firstKey >= keyCount) return;
  int own = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  auto same = [](int i) { return i; };
  auto find = [&](int i) {
    cursor.seek(segments, count, firstKey, lastKey, group, pairs != nullptr);
    const Segment &segment = cursor.segment;
    Keys prefix = keysOf(segment, 0), own = keysOf(segment, 1);
    int number = (cursor.start - segment.queryStart + leadOf(segment)) / tile * (prefix.tiles() + own.tiles());
    int pair = cursor.before + number + (cursor.part == 0 ? -prefix.firstTile() : prefix.tiles() - own.firstTile());
    items[i % itemRing] = {cursor.start, keyHead * group + cursor.head, cursor.from, cursor.until, segment.queryStart, segment.queryEnd,
                           cursor.part, cursor.index < count, pair};
  };
  auto prepare = [&](int i) {
    Item item = items[i % itemRing];
    if (item.valid) {
      bf16 *to = buffers + i % stages * 2 * tileElements;
      auto queryOf = [&](int i) { return max(i, item.queryStart); };
      fetch<256>(to, q, heads, item.head, item.start, item.queryEnd, queryOf);
      fetch<256>(to + tileElements, dOut, heads, item.head, item.start, item.queryEnd, queryOf);
      if (threadIdx.x < tile) {
        i64 query = queryOf(min(item.start + (int)threadIdx.x, item.queryEnd - 1));
        normalisers[i % stages][threadIdx.x] = logSumExp[query * heads + item.head] * log2e;
        means[i % stages][threadIdx.x] = delta[query * heads + item.head];
      }
    }
    commitCopies();
  };
#pragma unroll
  for (int other = 0; other < 2; other++) {
    int start = firstKey + other * tile;
    fetch<256>(first + 2 * other * tileElements, k, keyHeads, keyHead, start, lastKey, same);
    fetch<256>(first + (2 * other + 1) * tileElements, v, keyHeads, keyHead, start, lastKey, same);
  }
  if (threadIdx.x == 0) {
    cursor = unstarted();
    for (int i = 0; i < 3; i++)
      if (i == 0 || items[i - 1].valid) find(i);
      else items[i].valid = 0;
  }
  __syncthreads();
  prepare(0);
  prepare(1);
  const bf16 *keys = first + 2 * own * tileElements, *values = keys + tileElements;
  int ownFirst = firstKey + own * tile, ownLast = min(keyCount, ownFirst + tile);
  float sumKey[2 * steps][4] = {}, sumValue[2 * steps][4] = {}, toLog2 = scale * log2e;
  u32 changes[4][4] = {};
  const bf16 *earlier = keys;
  for (int i = 0; items[i % itemRing].valid; i++) {
    const bf16 *queries = buffers + i % stages * 2 * tileElements, *upstream = queries + tileElements;
    const float *normaliser = normalisers[i % stages] + lane % 4 * 2, *mean = means[i % stages] + lane % 4 * 2;
    float scores[8][4], slopes[8][4];
    awaitTiles<1>();
    prepare(i + 2);
    beginProducts();
    holdSums(sumKey);
    addWeighted(sumKey, changes, earlier);
    multiplyRows(scores, keys, queries);
    multiplyRows(slopes, values, upstream);
    if (threadIdx.x == 0) {
      if (items[(i + 2) % itemRing].valid) find(i + 3);
      else items[(i + 3) % itemRing].valid = 0;
    }
    awaitProducts<1>();
    holdSums(sumKey);
    holdSums(scores);
    const Item &item = items[i % itemRing];
    bool whole = ownFirst >= item.from && ownLast <= item.until && item.start >= item.queryStart && item.start + tile <= item.queryEnd &&
                 (item.part == 0 || ownLast <= item.until - (item.queryEnd - 1 - item.start));
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
          int query = item.start + 8 * j + lane % 4 * 2 + c % 2, mine = ownFirst + warp * 16 + lane / 4 + c / 2 * 8;
          bool seen = (mine >= item.from) & (mine < item.until) & (query >= item.queryStart) & (query < item.queryEnd) &
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
    if (pairs != nullptr && ownFirst < item.until && ownFirst + tile > item.from) {
      int head = item.head - firstKeyHead * group;
      storePair(pairs + ((i64)head * pairsPerHead + item.pair + ownFirst / tile) * pairElements, changes);
    }
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
    int key = ownFirst + warp * 16 + lane / 4 + 8 * half;
    if (key >= ownLast) continue;
    storeRow(dk + ((i64)key * keyHeads + keyHead) * HEAD, sumKey, half, scale);
    storeRow(dv + ((i64)key * keyHeads + keyHead) * HEAD, sumValue, half, 1.f);
  }
}
