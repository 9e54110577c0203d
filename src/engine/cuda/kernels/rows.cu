// Kernels that look at a whole row: RMSNorm and log-softmax. A row belongs to `lanes` neighbouring threads of a warp (a power of
// two, for short rows), or, where `lanes` is 0, to a block.
struct Lane {
  i64 row;
  int index, count;
};
__device__ __forceinline__ Lane lane(int lanes) {
  if (lanes > 0) return {(i64)blockIdx.x * (blockDim.x / lanes) + threadIdx.x / lanes, (int)threadIdx.x % lanes, lanes};
  return {(i64)blockIdx.x, (int)threadIdx.x, (int)blockDim.x};
}
__device__ __forceinline__ float sumRow(float x, int lanes) {
  if (lanes == 0) return sumBlock(x);
  for (int step = lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

template <class F> __device__ __forceinline__ void eachColumn(Lane at, int columns, int whole, F f) {
  if (whole)
    for (int c = at.index * packed; c < columns; c += at.count * packed) f(c, packed);
  else
    for (int c = at.index; c < columns; c += at.count) f(c, 1);
}
__device__ __forceinline__ void load(float (&values)[packed], const real *from, int count) {
  if (count == packed) {
    Pack pack = *(const Pack *)from;
#pragma unroll
    for (int j = 0; j < packed; j++) values[j] = widen(pack.at[j]);
  } else values[0] = widen(from[0]);
}
__device__ __forceinline__ void store(real *to, const float (&values)[packed], int count) {
  if (count == packed) {
    Pack pack;
#pragma unroll
    for (int j = 0; j < packed; j++) narrow(pack.at[j], values[j]);
    *(Pack *)to = pack;
  } else narrow(to[0], values[0]);
}

extern "C" __global__ void rmsNorm(real *out, float *inverseRms, const real *x, const real *weight, i64 rows, int columns,
                                   int whole, int lanes, float epsilon) {
  Lane at = lane(lanes);
  bool valid = at.row < rows;
  if (!valid) at.row = rows - 1;  // Still takes part in the sums of its warp.
  const real *source = x + at.row * columns;
  float squares = 0, values[packed], gains[packed];
  eachColumn(at, columns, whole, [&](int c, int count) {
    load(values, source + c, count);
    for (int j = 0; j < count; j++) squares += values[j] * values[j];
  });
  float r = 1.f / sqrtf(sumRow(squares, lanes) / columns + epsilon);
  if (!valid) return;
  if (at.index == 0) inverseRms[at.row] = r;
  eachColumn(at, columns, whole, [&](int c, int count) {
    load(values, source + c, count);
    load(gains, weight + c, count);
    for (int j = 0; j < count; j++) values[j] = values[j] * r * gains[j];
    store(out + at.row * columns + c, values, count);
  });
}

// RMSNorm of every head, then its rotation: x [tokens, heads, columns]. A row's lanes hold `packed` columns each, so that the other
// half of a pair is lanes / 2 away.
extern "C" __global__ void normRotary(real *out, float *inverseRms, const real *x, const real *weight, const int *positions,
                                      const float *table, i64 rows, int heads, int columns, int lanes, float epsilon) {
  Lane at = lane(lanes);
  bool valid = at.row < rows;
  if (!valid) at.row = rows - 1;
  int column = at.index * packed, half = columns / 2;
  float values[packed], gains[packed], squares = 0;
  load(values, x + at.row * columns + column, packed);
  load(gains, weight + column, packed);
#pragma unroll
  for (int j = 0; j < packed; j++) squares += values[j] * values[j];
  float r = 1.f / sqrtf(sumRow(squares, lanes) / columns + epsilon);
  bool second = column >= half;
  const float *angle = table + (i64)positions[at.row / heads] * columns + (second ? column - half : column);
#pragma unroll
  for (int j = 0; j < packed; j++) {
    real rounded;
    narrow(rounded, values[j] * r * gains[j]);
    float own = widen(rounded), other = __shfl_xor_sync(~0u, own, lanes / 2);
    values[j] = own * angle[j] + (second ? other : -other) * angle[half + j];
  }
  if (!valid) return;
  if (at.index == 0) inverseRms[at.row] = r;
  store(out + at.row * columns + column, values, packed);
}

extern "C" __global__ void rmsNormBackward(real *dx, const real *dy, const real *x, const real *weight, const float *inverseRms,
                                           i64 rows, int columns, int whole, int lanes, int accumulate) {
  Lane at = lane(lanes);
  bool valid = at.row < rows;
  if (!valid) at.row = rows - 1;
  i64 base = at.row * columns;
  float r = inverseRms[at.row], sum = 0, values[packed], gains[packed], upstream[packed], earlier[packed];
  eachColumn(at, columns, whole, [&](int c, int count) {
    load(values, x + base + c, count);
    load(gains, weight + c, count);
    load(upstream, dy + base + c, count);
    for (int j = 0; j < count; j++) sum += upstream[j] * gains[j] * values[j];
  });
  float mean = sumRow(sum, lanes) * r / columns;
  if (!valid) return;
  eachColumn(at, columns, whole, [&](int c, int count) {
    load(values, x + base + c, count);
    load(gains, weight + c, count);
    load(upstream, dy + base + c, count);
    if (accumulate) load(earlier, dx + base + c, count);
    for (int j = 0; j < count; j++) {
      float value = r * (upstream[j] * gains[j] - values[j] * r * mean);
      values[j] = accumulate ? earlier[j] + value : value;
    }
    store(dx + base + c, values, count);
  });
}

// logits are always float32 here. One block per row; one pass finds the largest and the sum together.
extern "C" __global__ void logSoftmaxGather(float *logp, float *logSumExp, const float *logits, const int *targets, int columns) {
  const float *row = logits + (i64)blockIdx.x * columns;
  float most = -infinity, sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    float value = row[c];
    if (value > most) {
      sum = sum * expf(most - value) + 1.f;
      most = value;
    } else if (value != -infinity) sum += expf(value - most);
  }
  float top = maxBlock(most);
  float total = sumBlock(most == -infinity ? 0.f : sum * expf(most - top));
  if (threadIdx.x != 0) return;
  float logTotal = logf(total);
  logSumExp[blockIdx.x] = top + logTotal;
  logp[blockIdx.x] = row[targets[blockIdx.x]] - top - logTotal;
}

extern "C" __global__ void logSoftmaxGatherBackward(float *logits, const float *logSumExp, const int *targets, const float *dLogp,
                                                    int columns) {
  int row = blockIdx.y, target = targets[row];
  float normaliser = logSumExp[row], upstream = dLogp[row];
  float *values = logits + (i64)row * columns;
  for (int c = firstIndex(); c < columns; c += indexStep())
    values[c] = upstream * ((c == target ? 1.f : 0.f) - expf(values[c] - normaliser));
}
