// Attention over segments on tensor cores, bf16, without the score matrix (Dao et al. 2022, 2023). Compiled for -DHEAD.
// A block is 4 warps; a warp owns 16 rows of a 64-row tile. Scores stay in registers: the layout in which a product leaves the
// tensor cores is the one in which the next product takes it.
constexpr int pitch = width + 8, threads = 128;

// Copies rows `slot(i)` of x [·, heads, HEAD] for i from `start` to `end` to shared memory; zeros beyond.
template <class Slot>
__device__ __forceinline__ void fetch(bf16 *to, const bf16 *x, int heads, int head, int start, int end, Slot slot) {
  constexpr int chunks = width / 8;
  for (int i = threadIdx.x; i < tile * chunks; i += threads) {
    int row = i / chunks, column = i % chunks * 8;
    bool valid = start + row < end;
    const bf16 *from = x + ((i64)slot(valid ? start + row : start) * heads + head) * HEAD + column;
    bf16 *target = to + row * pitch + column;
    if (HEAD % 8 == 0) copyAsync(target, valid && column < HEAD ? from : x, valid && column < HEAD);
    else
      for (int j = 0; j < 8; j++) target[j].bits = valid && column + j < HEAD ? from[j].bits : 0;
  }
  commitCopies();
}

// sum [16 × 64] = rows of `left` (this warp's 16) · rows of `right` (64), over the head.
__device__ __forceinline__ void multiplyRows(float (&sum)[8][4], const bf16 *left, int row, const bf16 *right) {
#pragma unroll
  for (int s = 0; s < steps; s++) {
    u32 x[4];
    loadRows<pitch>(x, left, row, 16 * s);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      u32 y[4];
      loadRows<pitch>(y, right, 16 * j, 16 * s);
      multiplyAdd(sum[2 * j], x, y[0], y[2]);
      multiplyAdd(sum[2 * j + 1], x, y[1], y[3]);
    }
  }
}
// sum [16 × width] += weights [16 × 64] · rows of `right` (64 × width).
__device__ __forceinline__ void addWeighted(float (&sum)[2 * steps][4], const float (&weights)[8][4], const bf16 *right) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    u32 x[4] = {packPair(weights[2 * k][0], weights[2 * k][1]), packPair(weights[2 * k][2], weights[2 * k][3]),
                packPair(weights[2 * k + 1][0], weights[2 * k + 1][1]), packPair(weights[2 * k + 1][2], weights[2 * k + 1][3])};
#pragma unroll
    for (int j = 0; j < steps; j++) {
      u32 y[4];
      loadColumnsAsB<pitch>(y, right, 16 * k, 16 * j);
      multiplyAdd(sum[2 * j], x, y[0], y[1]);
      multiplyAdd(sum[2 * j + 1], x, y[2], y[3]);
    }
  }
}
// grid: tiles of queries (an upper bound), heads.
extern "C" __global__ void __launch_bounds__(128) flash(bf16 *out, float *logSumExp, const bf16 *q, const bf16 *k, const bf16 *v,
                                                        const Segment *segments, int count, int heads, int keyHeads, float scale) {
  extern __shared__ uint4 memory[];
  bf16 *queries = (bf16 *)memory, *keys = queries + tile * pitch, *values = keys + tile * pitch;
  Tile at = findTile(segments, count);
  if (!at.valid) return;
  Segment segment = at.segment;
  int head = blockIdx.y, keyHead = head * keyHeads / heads, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto slot = [&](int key) { return segment.slot(key); };
  auto queryOf = [&](int i) { return max(i, segment.queryStart); };
  fetch(queries, q, heads, head, at.start, segment.queryEnd, queryOf);
  int end = segment.visible(min(at.start + tile, segment.queryEnd) - 1);
  int row[2], visible[2];
  for (int half = 0; half < 2; half++) {
    row[half] = at.start + warp * 16 + lane / 4 + 8 * half;
    visible[half] = segment.visible(queryOf(min(row[half], segment.queryEnd - 1)));
  }
  float sum[2 * steps][4] = {}, most[2] = {-infinity, -infinity}, total[2] = {0, 0};
  float toLog2 = scale * log2e;
  fetch(keys, k, keyHeads, keyHead, 0, end, slot);
  for (int start = 0; start < end; start += tile) {
    awaitCopies<0>();
    __syncthreads();
    fetch(values, v, keyHeads, keyHead, start, end, slot);
    float scores[8][4] = {};
    multiplyRows(scores, queries, warp * 16, keys);
    awaitCopies<0>();
    __syncthreads();
    if (start + tile < end) fetch(keys, k, keyHeads, keyHead, start + tile, end, slot);
    if (start + tile > segment.visible(at.start)) hideUnseen(scores, start, visible);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float shrink = weigh(scores, half, most[half], total[half], toLog2);
#pragma unroll
      for (int j = 0; j < 2 * steps; j++) {
        sum[j][2 * half] *= shrink;
        sum[j][2 * half + 1] *= shrink;
      }
    }
    addWeighted(sum, scores, values);
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float whole = sumFour(total[half]);
    if (row[half] < segment.queryStart || row[half] >= segment.queryEnd) continue;
    i64 to = (i64)row[half] * heads + head;
    storeRow(out + to * HEAD, sum, half, 1.f / whole);
    if (lane % 4 == 0) logSumExp[to] = most[half] * scale + logf(whole);
  }
}

// dq of 64 queries, summed over their keys: dScore = p ∘ (dOut vᵀ − delta), dq = scale · dScore k.
extern "C" __global__ void __launch_bounds__(128) flashQueryGradient(bf16 *dq, const bf16 *dOut, const float *delta, const float *logSumExp,
                                                                     const bf16 *q, const bf16 *k, const bf16 *v, const Segment *segments,
                                                                     int count, int heads, int keyHeads, float scale) {
  extern __shared__ uint4 memory[];
  bf16 *queries = (bf16 *)memory, *upstream = queries + tile * pitch, *keys = upstream + tile * pitch, *values = keys + tile * pitch;
  Tile at = findTile(segments, count);
  if (!at.valid) return;
  Segment segment = at.segment;
  int head = blockIdx.y, keyHead = head * keyHeads / heads, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto slot = [&](int key) { return segment.slot(key); };
  auto queryOf = [&](int i) { return max(i, segment.queryStart); };
  fetch(queries, q, heads, head, at.start, segment.queryEnd, queryOf);
  fetch(upstream, dOut, heads, head, at.start, segment.queryEnd, queryOf);
  int end = segment.visible(min(at.start + tile, segment.queryEnd) - 1);
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
  for (int start = 0; start < end; start += tile) {
    __syncthreads();
    fetch(keys, k, keyHeads, keyHead, start, end, slot);
    fetch(values, v, keyHeads, keyHead, start, end, slot);
    awaitCopies<1>();
    __syncthreads();
    float scores[8][4] = {}, slopes[8][4] = {};
    multiplyRows(scores, queries, warp * 16, keys);
    awaitCopies<0>();
    __syncthreads();
    multiplyRows(slopes, upstream, warp * 16, values);
    if (start + tile > segment.visible(at.start)) hideUnseen(scores, start, visible);
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) slopes[j][c] = powerOfTwo(scores[j][c] * toLog2 - normaliser[c / 2]) * (slopes[j][c] - mean[c / 2]);
    addWeighted(sum, slopes, keys);
  }
#pragma unroll
  for (int half = 0; half < 2; half++)
    if (row[half] >= segment.queryStart && row[half] < segment.queryEnd)
      storeRow(dq + ((i64)row[half] * heads + head) * HEAD, sum, half, scale);
}

// dk and dv of 64 keys: rows of the products are keys. The next queries are on their way while these are worked on.
// grid: key heads, tiles of keys.
extern "C" __global__ void __launch_bounds__(128) flashKeyGradient(bf16 *dk, bf16 *dv, const bf16 *dOut, const float *delta,
                                                                   const float *logSumExp, const bf16 *q, const bf16 *k, const bf16 *v,
                                                                   const Segment *segments, int count, int keyCount, int heads,
                                                                   int keyHeads, float scale, int spread) {
  extern __shared__ uint4 memory[];
  constexpr int size = tile * pitch;
  bf16 *keys = (bf16 *)memory, *values = keys + size, *buffers = values + size;
  __shared__ float normalisers[2][tile], means[2][tile];
  int firstKey = keyTile(spread) * tile, lastKey = min(keyCount, firstKey + tile), keyHead = blockIdx.x, group = heads / keyHeads;
  if (firstKey >= keyCount) return;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto same = [](int i) { return i; };
  auto prepare = [&](const Cursor &at, int which) {
    int start = at.start, head = keyHead * group + at.head;
    fetch(buffers + 2 * which * size, q, heads, head, start, at.segment.queryEnd, same);
    fetch(buffers + (2 * which + 1) * size, dOut, heads, head, start, at.segment.queryEnd, same);
    if (threadIdx.x < tile) {
      int query = min(start + (int)threadIdx.x, at.segment.queryEnd - 1);
      normalisers[which][threadIdx.x] = logSumExp[(i64)query * heads + head] * log2e;
      means[which][threadIdx.x] = delta[(i64)query * heads + head];
    }
  };
  fetch(keys, k, keyHeads, keyHead, firstKey, lastKey, same);
  fetch(values, v, keyHeads, keyHead, firstKey, lastKey, same);
  int key[2] = {firstKey + warp * 16 + lane / 4, firstKey + warp * 16 + lane / 4 + 8};
  float sumKey[2 * steps][4] = {}, sumValue[2 * steps][4] = {}, toLog2 = scale * log2e;
  Cursor now = unstarted();
  now.seek(segments, count, firstKey, lastKey, group);
  if (now.index < count) prepare(now, 0);
  for (int which = 0; now.index < count; which ^= 1) {
    Cursor next = now;
    next.seek(segments, count, firstKey, lastKey, group);
    if (next.index < count) {
      prepare(next, which ^ 1);
      awaitCopies<2>();
    } else awaitCopies<0>();
    __syncthreads();
    const bf16 *queries = buffers + 2 * which * size, *upstream = queries + size;
    const float *normaliser = normalisers[which], *mean = means[which];
    const Segment &segment = now.segment;
    int start = now.start;
    float scores[8][4] = {};
    multiplyRows(scores, keys, warp * 16, queries);
    bool whole = firstKey >= now.from && lastKey <= now.until && start + tile <= segment.queryEnd &&
                 (now.part == 0 || lastKey <= now.until - (segment.queryEnd - 1 - start));
    if (whole) {
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int c = 0; c < 4; c++) scores[j][c] = powerOfTwo(scores[j][c] * toLog2 - normaliser[8 * j + lane % 4 * 2 + c % 2]);
    } else {
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
          int column = 8 * j + lane % 4 * 2 + c % 2, query = start + column, mine = key[c / 2];
          bool seen = mine >= now.from && mine < now.until && query < segment.queryEnd &&
                      (now.part == 0 || mine < now.until - (segment.queryEnd - 1 - query));
          scores[j][c] = seen ? powerOfTwo(scores[j][c] * toLog2 - normaliser[column]) : 0.f;
        }
    }
    addWeighted(sumValue, scores, upstream);
    float slopes[8][4] = {};
    multiplyRows(slopes, values, warp * 16, upstream);
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) slopes[j][c] = scores[j][c] * (slopes[j][c] - mean[8 * j + lane % 4 * 2 + c % 2]);
    addWeighted(sumKey, slopes, queries);
    __syncthreads();
    now = next;
  }
  awaitCopies<0>();
#pragma unroll
  for (int half = 0; half < 2; half++) {
    if (key[half] >= lastKey) continue;
    storeRow(dk + ((i64)key[half] * keyHeads + keyHead) * HEAD, sumKey, half, scale);
    storeRow(dv + ((i64)key[half] * keyHeads + keyHead) * HEAD, sumValue, half, 1.f);
  }
}
