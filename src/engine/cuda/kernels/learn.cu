// Gradients of the factors of split adapters: out [ROWS, N] (+)= (coefficient ∘ h)ᵀ · x, with the first ROWS = 2R columns of h [T, depth] and x [T, N],
// for several pairs of h and x in one launch. Up to three h that share an x are multiplied with it together, so that x is read once.
// A block has a tile of columns and a stretch of tokens; the sums of the stretches are added in order by a second kernel.
// Compiled for -DROWS: 32 or 64.
constexpr int tokensPerStage = 32, stages = 4;

// One x with the h that share it; h without a use are null.
struct Group {
  const bf16 *x, *h[3];
  int columns;
  __device__ __forceinline__ int parts() const { return x == nullptr ? 0 : h[1] == nullptr ? 1 : h[2] == nullptr ? 2 : 3; }
};
__device__ __forceinline__ constexpr int tileColumns(int parts) { return parts == 1 ? 256 : 128; }

// partial [parts · ROWS, columns] of this block's tile, summed over the tokens from `first` to `last`.
template <int parts>
__device__ __forceinline__ void learnTile(float *partial, const Group &group, int column0, const float *coefficients, int first, int last,
                                          int depth) {
  constexpr int width = tileColumns(parts), rows = parts * ROWS, alongRows = parts == 1 ? 1 : 2, rowTiles = rows / 16 / alongRows;
  constexpr int pitchX = width + 8, pitchH = rows + 8, stageX = tokensPerStage * pitchX, stageH = tokensPerStage * pitchH;
  constexpr int chunks = tokensPerStage * rows / 8, loads = (chunks + 255) / 256;
  extern __shared__ uint4 memory[];
  bf16 *xs = (bf16 *)memory, *hs = xs + stages * stageX;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int warpRow = warp % alongRows * (rows / alongRows), warpColumn = warp / alongRows * 32;
  int N = group.columns, count = (last - first + tokensPerStage - 1) / tokensPerStage;
  auto placeOf = [&](int step, int i) { return hs + step % stages * stageH + i / (rows / 8) * pitchH + i % (rows / 8) * 8; };
  auto prepare = [&](int step) {
    bf16 *to = xs + step % stages * stageX;
    int start = first + step * tokensPerStage;
    if (step < count) {
#pragma unroll 1
      for (int i = threadIdx.x; i < tokensPerStage * width / 8; i += 256) {
        int token = start + i / (width / 8), column = column0 + i % (width / 8) * 8;
        bool valid = token < last && column < N;
        copyAsync(to + i / (width / 8) * pitchX + i % (width / 8) * 8, group.x + (valid ? (i64)token * N + column : 0), valid);
      }
#pragma unroll 1
      for (int i = threadIdx.x; i < chunks; i += 256) {
        int token = start + i / (rows / 8), row = i % (rows / 8) * 8;
        const bf16 *h = row < ROWS ? group.h[0] : row < 2 * ROWS ? group.h[1] : group.h[2];
        copyAsync(placeOf(step, i), h + (token < last ? (i64)token * depth + row % ROWS : 0), token < last);
      }
    }
    commitCopies();
  };
  // A thread scales those pieces of h that it has copied itself, a step before they are used; their coefficients come a step earlier.
  float scales[loads];
  auto fetchScales = [&](int step) {
#pragma unroll
    for (int load = 0; load < loads; load++) {
      int i = threadIdx.x + 256 * load, token = min(last - 1, first + step * tokensPerStage + i / (rows / 8));
      scales[load] = coefficients[2 * token + i % (rows / 8) * 8 / (ROWS / 2) % 2];
    }
  };
  auto scale = [&](int step) {
    if (step < count)
#pragma unroll
      for (int load = 0; load < loads; load++) {
        int i = threadIdx.x + 256 * load;
        float by = scales[load];
        if (i >= chunks) continue;
        uint4 *at = (uint4 *)placeOf(step, i), value = *at;
        *at = {scalePair(value.x, by), scalePair(value.y, by), scalePair(value.z, by), scalePair(value.w, by)};
      }
  };
  float sum[rowTiles][4][4] = {};
  for (int step = 0; step < stages - 1; step++) prepare(step);
  fetchScales(0);
  awaitCopies<stages - 2>();
  scale(0);
  fetchScales(1);
  for (int step = 0; step < count; step++) {
    awaitCopies<stages - 3>();
    __syncthreads();
    prepare(step + stages - 1);
    scale(step + 1);
    fetchScales(step + 2);
    const bf16 *x = xs + step % stages * stageX, *h = hs + step % stages * stageH;
#pragma unroll
    for (int k = 0; k < tokensPerStage; k += 16) {
      u32 right[2][4];
#pragma unroll
      for (int j = 0; j < 2; j++) loadColumnsAsB<pitchX>(right[j], x, k, warpColumn + 16 * j);
#pragma unroll
      for (int i = 0; i < rowTiles; i++) {
        u32 left[4];
        loadColumnsAsA<pitchH>(left, h, k, warpRow + 16 * i);
#pragma unroll
        for (int j = 0; j < 2; j++) {
          multiplyAdd(sum[i][2 * j], left, right[j][0], right[j][1]);
          multiplyAdd(sum[i][2 * j + 1], left, right[j][2], right[j][3]);
        }
      }
    }
  }
  awaitCopies<0>();
#pragma unroll
  for (int i = 0; i < rowTiles; i++)
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        int row = warpRow + 16 * i + lane / 4 + 8 * half, column = column0 + warpColumn + 8 * j + lane % 4 * 2;
        if (column < N) *(float2 *)(partial + (i64)row * N + column) = {sum[i][j][2 * half], sum[i][j][2 * half + 1]};
      }
}

// partials [stretches, total]: the outputs of the groups one after the other. grid: tiles of all groups, stretches of tokens.
extern "C" __global__ void __launch_bounds__(256, 2)
    learnParts(float *partials, const float *coefficients, int tokens, int stretch, int depth, i64 total, const bf16 *x0, int columns0,
               const bf16 *h00, const bf16 *h01, const bf16 *h02, const bf16 *x1, int columns1, const bf16 *h10, const bf16 *h11,
               const bf16 *h12, const bf16 *x2, int columns2, const bf16 *h20, const bf16 *h21, const bf16 *h22, const bf16 *x3,
               int columns3, const bf16 *h30, const bf16 *h31, const bf16 *h32) {
  const Group groups[4] = {{x0, {h00, h01, h02}, columns0},
                           {x1, {h10, h11, h12}, columns1},
                           {x2, {h20, h21, h22}, columns2},
                           {x3, {h30, h31, h32}, columns3}};
  int tile = blockIdx.x, first = blockIdx.y * stretch, last = min(tokens, first + stretch);
  float *partial = partials + blockIdx.y * total;
  Group group = groups[0];
#pragma unroll
  for (int i = 1; i < 4; i++) {
    int width = tileColumns(group.parts()), tiles = (group.columns + width - 1) / width;
    if (tile < tiles || groups[i].x == nullptr) break;
    tile -= tiles;
    partial += (i64)group.parts() * ROWS * group.columns;
    group = groups[i];
  }
  int column0 = tile * tileColumns(group.parts());
  switch (group.parts()) {
    case 1: learnTile<1>(partial, group, column0, coefficients, first, last, depth); break;
    case 2: learnTile<2>(partial, group, column0, coefficients, first, last, depth); break;
    default: learnTile<3>(partial, group, column0, coefficients, first, last, depth);
  }
}

// The outputs, one after the other as in the parts, are the sums of these; the bits of `adding` say which ones are added to what is there. `end` of an
// output is the first element after it; all are multiples of four.
extern "C" __global__ void __launch_bounds__(256)
    learnSums(const float *partials, i64 total, int stretches, int adding, float *out0, i64 end0, float *out1, i64 end1, float *out2, i64 end2,
              float *out3, i64 end3, float *out4, i64 end4, float *out5, i64 end5) {
  float *outs[6] = {out0, out1, out2, out3, out4, out5};
  i64 ends[6] = {end0, end1, end2, end3, end4, end5};
  for (i64 i = 4 * firstIndex(); i < total; i += 4 * indexStep()) {
    float *out = outs[0];
    i64 start = 0;
    int which = 0;
#pragma unroll
    for (int next = 1; next < 6; next++)
      if (i >= ends[next - 1]) {
        out = outs[next];
        start = ends[next - 1];
        which = next;
      }
    float4 *to = (float4 *)(out + (i - start));
    float4 sum = *(const float4 *)(partials + i);
    for (int stretch = 1; stretch < stretches; stretch++) {
      float4 more = *(const float4 *)(partials + stretch * total + i);
      sum = {sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
    }
    if (adding >> which & 1) {
      float4 earlier = *to;
      sum = {earlier.x + sum.x, earlier.y + sum.y, earlier.z + sum.z, earlier.w + sum.w};
    }
    *to = sum;
  }
}
