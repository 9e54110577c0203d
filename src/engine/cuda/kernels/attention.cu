// Softmax attention over segments without tensor cores, for float32 and odd head sizes: one warp per row, in key order.
// q, out [queries, heads, size]; k, v [keys, keyHeads, size]; logSumExp and delta [queries, heads].
constexpr int mostSlices = 8;  // 32 lanes × 8: heads of at most 256.

__device__ __forceinline__ float dot(const real *a, const real *b, int size) {
  float sum = 0;
  for (int d = 0; d < size; d++) sum = fmaf(widen(a[d]), widen(b[d]), sum);
  return sum;
}
struct Row {
  int query, head;
  bool valid;
};
__device__ __forceinline__ Row rowOfWarp(int rows, int heads) {
  i64 row = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  return {(int)(row / heads), (int)(row % heads), row < rows};
}

extern "C" __global__ void attend(real *out, float *logSumExp, const real *q, const real *k, const real *v, const Segment *segments,
                                  int count, int rows, int heads, int keyHeads, int size, float scale) {
  Row row = rowOfWarp(rows, heads);
  if (!row.valid) return;
  int lane = threadIdx.x % 32, keyHead = row.head * keyHeads / heads;
  Segment segment = segmentOf(segments, count, row.query);
  const real *query = q + ((i64)row.query * heads + row.head) * size;
  int visible = segment.visible(row.query);
  float most = -infinity, total = 0, sum[mostSlices] = {};
  for (int start = 0; start < visible; start += 32) {
    int slot = start + lane < visible ? segment.slot(start + lane) : 0;
    float score = start + lane < visible ? scale * dot(query, k + ((i64)slot * keyHeads + keyHead) * size, size) : -infinity;
    float top = fmaxf(most, maxWarp(score));
    float weight = expf(score - top), shrink = expf(most - top);
    total = total * shrink + sumWarp(weight);
    most = top;
    for (int i = 0; i < mostSlices; i++) sum[i] *= shrink;
    for (int j = 0; j < min(32, visible - start); j++) {
      float w = __shfl_sync(~0u, weight, j);
      const real *value = v + ((i64)__shfl_sync(~0u, slot, j) * keyHeads + keyHead) * size;
      for (int i = 0; i < mostSlices && lane + 32 * i < size; i++) sum[i] = fmaf(w, widen(value[lane + 32 * i]), sum[i]);
    }
  }
  if (lane == 0) logSumExp[(i64)row.query * heads + row.head] = most + logf(total);
  real *target = out + ((i64)row.query * heads + row.head) * size;
  for (int i = 0; i < mostSlices && lane + 32 * i < size; i++) narrow(target[lane + 32 * i], sum[i] / total);
}

// delta = Σ dOut ∘ out of every row. A row belongs to `lanes` neighbouring threads that read 16 bytes each, or, where that is 0, to a warp.
extern "C" __global__ void attendDelta(float *delta, const real *dOut, const real *out, int rows, int size, int lanes) {
  int width = lanes > 0 ? lanes : 32, lane = threadIdx.x % width;
  i64 row = (i64)blockIdx.x * (blockDim.x / width) + threadIdx.x / width;
  bool valid = row < rows;
  if (!valid) row = rows - 1;
  float sum = 0;
  if (lanes > 0) {
    Pack x = ((const Pack *)(dOut + row * size))[lane], y = ((const Pack *)(out + row * size))[lane];
#pragma unroll
    for (int j = 0; j < packed; j++) sum += widen(x.at[j]) * widen(y.at[j]);
  } else
    for (int d = lane; d < size; d += 32) sum += widen(dOut[row * size + d]) * widen(out[row * size + d]);
  for (int step = width / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (valid && lane == 0) delta[row] = sum;
}

extern "C" __global__ void attendQueryGradient(real *dq, const real *dOut, const float *delta, const float *logSumExp, const real *q,
                                               const real *k, const real *v, const Segment *segments, int count, int rows, int heads,
                                               int keyHeads, int size, float scale) {
  Row row = rowOfWarp(rows, heads);
  if (!row.valid) return;
  int lane = threadIdx.x % 32, keyHead = row.head * keyHeads / heads;
  i64 at = (i64)row.query * heads + row.head;
  Segment segment = segmentOf(segments, count, row.query);
  int visible = segment.visible(row.query);
  float sum[mostSlices] = {};
  for (int start = 0; start < visible; start += 32) {
    int slot = start + lane < visible ? segment.slot(start + lane) : 0;
    i64 other = ((i64)slot * keyHeads + keyHead) * size;
    float dScore = 0;
    if (start + lane < visible) {
      float p = expf(scale * dot(q + at * size, k + other, size) - logSumExp[at]);
      dScore = scale * p * (dot(dOut + at * size, v + other, size) - delta[at]);
    }
    for (int j = 0; j < min(32, visible - start); j++) {
      float w = __shfl_sync(~0u, dScore, j);
      const real *key = k + ((i64)__shfl_sync(~0u, slot, j) * keyHeads + keyHead) * size;
      for (int i = 0; i < mostSlices && lane + 32 * i < size; i++) sum[i] = fmaf(w, widen(key[lane + 32 * i]), sum[i]);
    }
  }
  for (int i = 0; i < mostSlices && lane + 32 * i < size; i++) narrow(dq[at * size + lane + 32 * i], sum[i]);
}

// One warp per key: all queries that see it, segment by segment, in order.
extern "C" __global__ void attendKeyGradient(real *dk, real *dv, const real *dOut, const float *delta, const float *logSumExp,
                                             const real *q, const real *k, const real *v, const Segment *segments, int count,
                                             int rows, int heads, int keyHeads, int size, float scale) {
  Row row = rowOfWarp(rows, keyHeads);
  if (!row.valid) return;
  int lane = threadIdx.x % 32, group = heads / keyHeads, key = row.query;
  i64 at = ((i64)key * keyHeads + row.head) * size;
  float sumKey[mostSlices] = {}, sumValue[mostSlices] = {};
  for (int base = 0; base < count; base += 32) {
    Segment mine = base + lane < count ? segments[base + lane] : Segment{};
    bool inPrefix = key >= mine.prefixStart && key < mine.prefixEnd, own = key >= mine.keyStart && key < mine.keyEnd;
    for (u32 seeing = __ballot_sync(~0u, inPrefix || own); seeing != 0; seeing &= seeing - 1) {
      Segment segment = segments[base + __ffs(seeing) - 1];
      for (int part = 0; part < 2; part++) {
        bool sees = part == 0 ? key >= segment.prefixStart && key < segment.prefixEnd : key >= segment.keyStart && key < segment.keyEnd;
        if (!sees) continue;
        int first = part == 0 ? segment.queryStart : max(segment.queryStart, segment.queryEnd - (segment.keyEnd - key));
        int pairs = (segment.queryEnd - first) * group;
        for (int start = 0; start < pairs; start += 32) {
          int pair = start + lane;
          i64 other = pair < pairs ? (i64)(first + pair / group) * heads + row.head * group + pair % group : 0;
          float p = 0, dScore = 0;
          if (pair < pairs) {
            p = expf(scale * dot(q + other * size, k + at, size) - logSumExp[other]);
            dScore = scale * p * (dot(dOut + other * size, v + at, size) - delta[other]);
          }
          for (int j = 0; j < min(32, pairs - start); j++) {
            float weight = __shfl_sync(~0u, p, j), slope = __shfl_sync(~0u, dScore, j);
            i64 from = __shfl_sync(~0u, other, j) * size;
            for (int i = 0; i < mostSlices && lane + 32 * i < size; i++) {
              sumKey[i] = fmaf(slope, widen(q[from + lane + 32 * i]), sumKey[i]);
              sumValue[i] = fmaf(weight, widen(dOut[from + lane + 32 * i]), sumValue[i]);
            }
          }
        }
      }
    }
  }
  for (int i = 0; i < mostSlices && lane + 32 * i < size; i++) {
    narrow(dk[at + lane + 32 * i], sumKey[i]);
    narrow(dv[at + lane + 32 * i], sumValue[i]);
  }
}
