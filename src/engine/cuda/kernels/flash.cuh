// What both kinds of attention on tensor cores share: tiles of 64 rows, found among the segments, and how rows are stored. Compiled
// for -DHEAD. Scores stay in registers: the layout in which a product leaves the tensor cores is the one in which the next takes it.
constexpr int tile = 64, width = (HEAD + 15) / 16 * 16, steps = width / 16;
constexpr float log2e = 1.4426950408889634f;

// How many rows of a segment's first tile lie before its first query: tiles end where tiles of keys end, unless that takes one more of them.
__device__ __forceinline__ int leadOf(const Segment &segment) {
  int lead = (segment.keys() - segment.queries()) % tile;
  return (segment.queries() + tile - 1) % tile + lead < tile ? lead : 0;
}

// Which 64 queries this block works on: tiles are counted over the segments, largest index first. Rows before the first query of a
// segment repeat it, and are not stored.
struct Tile {
  Segment segment;
  int start;
  bool valid;
};
__device__ __forceinline__ Tile findTile(const Segment *segments, int count) {
  __shared__ Tile found;
  int wanted = gridDim.x - 1 - blockIdx.x, lane = threadIdx.x;
  if (threadIdx.x == 0) found.valid = false;
  __syncthreads();
  if (threadIdx.x < 32) {
    int before = 0;
    for (int base = 0; base < count && before <= wanted; base += 32) {
      Segment segment = base + lane < count ? segments[base + lane] : Segment{};
      int tiles = (segment.queries() + tile - 1) / tile, until = tiles;
      for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(~0u, until, step);
        if (lane >= step) until += other;
      }
      int first = before + until - tiles;
      if (wanted >= first && wanted < first + tiles) found = {segment, segment.queryStart - leadOf(segment) + (wanted - first) * tile, true};
      before += __shfl_sync(~0u, until, 31);
    }
  }
  __syncthreads();
  return found;
}

__device__ __forceinline__ void storeRow(bf16 *to, const float (&sum)[2 * steps][4], int half, float scale) {
#pragma unroll
  for (int j = 0; j < 2 * steps; j++) {
    int column = 8 * j + threadIdx.x % 4 * 2;
    if (HEAD % 2 == 0) {
      if (column < HEAD) *(u32 *)(to + column) = packPair(sum[j][2 * half] * scale, sum[j][2 * half + 1] * scale);
    } else {
      if (column < HEAD) narrow(to[column], sum[j][2 * half] * scale);
      if (column + 1 < HEAD) narrow(to[column + 1], sum[j][2 * half + 1] * scale);
    }
  }
}
__device__ __forceinline__ float sumFour(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}
__device__ __forceinline__ float maxFour(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

// Hides those of the 64 keys from `start` on that a row of this lane does not see.
__device__ __forceinline__ void hideUnseen(float (&scores)[8][4], int start, const int (&visible)[2]) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < 8; j++)
#pragma unroll
    for (int c = 0; c < 4; c++)
      if (start + 8 * j + lane % 4 * 2 + c % 2 >= visible[c / 2]) scores[j][c] = -infinity;
}
// Scores of one row of this lane become weights, relative to the largest so far; what was summed with earlier weights shrinks by the result.
__device__ __forceinline__ float weigh(float (&scores)[8][4], int half, float &most, float &total, float toLog2) {
  float top = most;
#pragma unroll
  for (int j = 0; j < 8; j++) top = fmaxf(top, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
  top = maxFour(top);
  float shrink = powerOfTwo((most - top) * toLog2), added = 0, shift = top * toLog2;
  most = top;
#pragma unroll
  for (int j = 0; j < 8; j++)
#pragma unroll
    for (int c = 2 * half; c < 2 * half + 2; c++) {
      scores[j][c] = powerOfTwo(scores[j][c] * toLog2 - shift);
      added += scores[j][c];
    }
  total = total * shrink + added;
  return shrink;
}

// Keys of a segment that lie together: its prefix (part 0), its own keys (part 1). A prefix that lies right before the own keys is one part
// with them.
struct Keys {
  int from, until;
  __device__ __forceinline__ int firstTile() const { return from / tile; }
  __device__ __forceinline__ int tiles() const { return until > from ? (until + tile - 1) / tile - from / tile : 0; }
};
__device__ __forceinline__ Keys keysOf(const Segment &segment, int part) {
  bool joined = segment.prefixEnd == segment.keyStart;
  int from = part == 0 || joined ? segment.prefixStart : segment.keyStart;
  return {from, part == 1 ? segment.keyEnd : joined ? from : segment.prefixEnd};
}
// Pairs of a tile of queries and a tile of keys, of one head.
__device__ __forceinline__ int pairsOf(const Segment &segment) {
  return (segment.queries() + tile - 1) / tile * (keysOf(segment, 0).tiles() + keysOf(segment, 1).tiles());
}

// A cursor over what sees a tile of keys, in order: segments, their two parts, 64 queries at a time, heads of the group. Tiles of queries are
// those of findTile where `whole`, otherwise the first begins with the first query that sees a key. `before` counts the pairs of the
// segments before this one.
struct Cursor {
  Segment segment;
  int index, part, start, head, from, until, before;
  __device__ __forceinline__ void seek(const Segment *segments, int count, int firstKey, int lastKey, int group, bool whole = false) {
    if (index >= 0 && ++head < group) return;
    head = 0;
    start += tile;
    while (index < 0 || start >= segment.queryEnd) {
      if (++part == 2) {
        part = 0;
        if (index >= 0) before += pairsOf(segment);
        if (++index >= count) return;
        segment = segments[index];
      }
      Keys keys = keysOf(segment, part);
      from = keys.from;
      until = keys.until;
      start = segment.queryEnd;
      if (from >= until || from >= lastKey || until <= firstKey) continue;
      // The first query that sees any of these keys; own keys are seen from their own position on.
      start = part == 0 ? segment.queryStart : max(segment.queryStart, segment.queryEnd - (until - max(from, firstKey)));
      if (whole) start -= (start - segment.queryStart + leadOf(segment)) % tile;
    }
  }
};
// A cursor before its first seek.
__device__ __forceinline__ Cursor unstarted() { return {{}, -1, 1, 0, 0, 0, 0, 0}; }

// The tile of keys that a block takes. Of `spread` equal parts of the keys, the first tile of every part goes first, as the keys that
// most queries see take longest.
__device__ __forceinline__ int keyTile(int spread) { return blockIdx.y % spread * (gridDim.y / spread) + blockIdx.y / spread; }
