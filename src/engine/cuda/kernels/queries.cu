// The gradient of the queries of attention on Hopper, made of stored gradients of scores. Compiled for -DHEAD and -DSHARING, as hopper.cu.
// How many pairs the segments before that of these queries have.
__device__ __forceinline__ int pairsBefore(const Segment *segments, int count, const Segment &own) {
  __shared__ int total;
  if (threadIdx.x < 32) {
    int sum = 0;
    for (int i = threadIdx.x; i < count; i += 32)
      if (segments[i].queryStart < own.queryStart) sum += pairsOf(segments[i]);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x == 0) total = sum;
  }
  __syncthreads();
  return total;
}

// dq of 64 queries of SHARING neighbouring heads, a warpgroup each, from the gradients of scores that flashKeyGradient has stored. Both
// factors come two tiles ahead. grid: tiles of queries (an upper bound), heads / SHARING from those of `firstKeyHead` on.
constexpr int sumStages = 3, sumElements = tileElements + SHARING * pairElements;
extern "C" __global__ void __launch_bounds__(128 * SHARING, 2) flashQuerySums(bf16 *dq, const bf16 *pairs, int pairsPerHead, const bf16 *k,
                                                                              const Segment *segments, int count, int keyCount, int heads,
                                                                              int keyHeads, float scale, int firstKeyHead) {
  extern __shared__ uint4 memory[];
  bf16 *buffers = panels(memory);
  Tile at = findTile(segments, count);
  if (!at.valid) return;
  Segment segment = at.segment;
  int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  int localHead = blockIdx.y * SHARING, firstHead = firstKeyHead * (heads / keyHeads) + localHead, keyHead = firstHead * keyHeads / heads;
  Keys prefix = keysOf(segment, 0), own = keysOf(segment, 1);
  int lastQuery = min(at.start + tile, segment.queryEnd) - 1, bound = own.until - (segment.queryEnd - 1 - lastQuery);
  int prefixTiles = prefix.tiles(), tiles = prefixTiles + (bound + tile - 1) / tile - own.firstTile();
  int number = (at.start - segment.queryStart + leadOf(segment)) / tile * (prefixTiles + own.tiles());
  const bf16 *first = pairs + ((i64)localHead * pairsPerHead + pairsBefore(segments, count, segment) + number) * pairElements;
  auto same = [](int i) { return i; };
  auto prepare = [&](int i) {
    if (i < tiles) {
      bf16 *to = buffers + i % sumStages * sumElements;
      int start = (i < prefixTiles ? prefix.firstTile() + i : own.firstTile() + i - prefixTiles) * tile;
      fetch<128 * SHARING>(to, k, keyHeads, keyHead, start, keyCount, same);
      to += tileElements;
#pragma unroll
      for (int other = 0; other < SHARING; other++)
#pragma unroll
        for (int chunk = threadIdx.x; chunk < pairElements / 8; chunk += 128 * SHARING)
          copyAsync(to + other * pairElements + chunk * 8, first + ((i64)other * pairsPerHead + i) * pairElements + chunk * 8, true);
    }
    commitCopies();
  };
  prepare(0);
  prepare(1);
  float sum[2 * steps][4] = {};
  for (int i = 0; i < tiles; i++) {
    const bf16 *keys = buffers + i % sumStages * sumElements, *changes = keys + tileElements + group * pairElements;
    awaitTiles<1>();
    prepare(i + 2);
    beginProducts();
    holdSums(sum);
#pragma unroll
    for (int step = 0; step < 4; step++)
      multiplyTransposed(sum, describePanels(changes + step * 16 * 64), describePanels(keys + step * 16 * 64));
    commitProducts();
    awaitProducts<0>();
    holdSums(sum);
  }
  awaitCopies<0>();
#pragma unroll
  for (int half = 0; half < 2; half++) {
    int row = at.start + queryAt(warp * 16 + lane / 4 + 8 * half);
    if (row >= segment.queryStart && row < segment.queryEnd)
      storeRow(dq + ((i64)row * heads + firstHead + group) * HEAD, sum, half, scale);
  }
}
