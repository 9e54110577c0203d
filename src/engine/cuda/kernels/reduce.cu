// Sums in a fixed order. Inputs are `real`, sums float32; an output is float32, or `real` where it says so.

// out [rows] = the sum of each row. One block per row.
extern "C" __global__ void sumLast(float *out, const real *x, i64 columns) {
  const real *row = x + (i64)blockIdx.x * columns;
  double sum = 0;
  for (i64 c = threadIdx.x; c < columns; c += blockDim.x) sum += widen(row[c]);
  sum = sumBlock(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// out [columns] (+)= the sum over rows. Blocks of 32 × 32: 32 columns, every 32nd row a thread.
__device__ __forceinline__ float sumColumn(float sum) {
  __shared__ float parts[32][33];
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  float total = 0;
  if (threadIdx.y == 0)
    for (int i = 0; i < 32; i++) total += parts[i][threadIdx.x];
  return total;
}
__device__ __forceinline__ void addTo(void *out, int outIsReal, int accumulate, i64 at, float total) {
  if (outIsReal) {
    real *target = (real *)out + at;
    narrow(*target, accumulate ? widen(*target) + total : total);
  } else {
    float *target = (float *)out + at;
    *target = accumulate ? *target + total : total;
  }
}
extern "C" __global__ void sumFirst(void *out, const real *x, i64 rows, i64 columns, int outIsReal, int accumulate) {
  i64 column = (i64)blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  if (column < columns)
    for (i64 row = threadIdx.y; row < rows; row += 32) sum += widen(x[row * columns + column]);
  float total = sumColumn(sum);
  if (threadIdx.y == 0 && column < columns) addTo(out, outIsReal, accumulate, column, total);
}

// dWeight += Σ over rows of dy · x · inverseRms.
extern "C" __global__ void gainGradient(void *dWeight, const real *dy, const real *x, const float *inverseRms, i64 rows,
                                        i64 columns, int outIsReal) {
  i64 column = (i64)blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  if (column < columns)
    for (i64 row = threadIdx.y; row < rows; row += 32)
      sum += widen(dy[row * columns + column]) * widen(x[row * columns + column]) * inverseRms[row];
  float total = sumColumn(sum);
  if (threadIdx.y == 0 && column < columns) addTo(dWeight, outIsReal, 1, column, total);
}

// The same sum in parts, each over `rowsEach` rows: parts [gridDim.y, columns], which are then added in order.
extern "C" __global__ void gainParts(float *parts, const real *dy, const real *x, const float *inverseRms, i64 rows,
                                     i64 columns, i64 rowsEach) {
  i64 column = (i64)blockIdx.x * 32 + threadIdx.x;
  i64 first = blockIdx.y * rowsEach, end = first + rowsEach < rows ? first + rowsEach : rows;
  float sum = 0;
  if (column < columns)
    for (i64 row = first + threadIdx.y; row < end; row += 32)
      sum += widen(dy[row * columns + column]) * widen(x[row * columns + column]) * inverseRms[row];
  float total = sumColumn(sum);
  if (threadIdx.y == 0 && column < columns) parts[blockIdx.y * columns + column] = total;
}

// out [segments, width] = the sum of the first `width` columns of x over the tokens of a range.
extern "C" __global__ void segmentSum(float *out, const real *x, const int *ranges, int width, int columns) {
  int segment = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  if (column < width)
    for (int token = ranges[2 * segment] + threadIdx.y; token < ranges[2 * segment + 1]; token += 32)
      sum += widen(x[(i64)token * columns + column]);
  float total = sumColumn(sum);
  if (threadIdx.y == 0 && column < width) out[(i64)segment * width + column] = total;
}

// out [segments, columns] += the sum of x² over the tokens of a range.
extern "C" __global__ void segmentSquares(float *out, const real *x, const int *ranges, int columns) {
  int segment = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  if (column < columns)
    for (int token = ranges[2 * segment] + threadIdx.y; token < ranges[2 * segment + 1]; token += 32) {
      float value = widen(x[(i64)token * columns + column]);
      sum += value * value;
    }
  float total = sumColumn(sum);
  if (threadIdx.y == 0 && column < columns) out[(i64)segment * columns + column] += total;
}

// Σ x² in two steps: one part per block, then one block over the parts.
extern "C" __global__ void squareParts(double *parts, const real *x, i64 size) {
  double sum = 0;
  for (i64 i = firstIndex(); i < size; i += indexStep()) {
    float value = widen(x[i]);
    sum += (double)value * value;
  }
  sum = sumBlock(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
extern "C" __global__ void sumParts(float *out, const double *parts, int count, int accumulate) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += parts[i];
  sum = sumBlock(sum);
  if (threadIdx.x == 0) out[0] = accumulate ? out[0] + sum : sum;
}

// The same over several tensors of float32: `blocks` parts of each (grid y), which are added in order.
constexpr int mostTensors = 64;
struct Tensors {
  u64 at[mostTensors], size[mostTensors];
};
extern "C" __global__ void squarePartsOf(double *parts, const __grid_constant__ Tensors tensors) {
  const float *x = (const float *)tensors.at[blockIdx.y];
  i64 size = tensors.size[blockIdx.y];
  double sum = 0;
  for (i64 i = firstIndex(); i < size; i += indexStep()) sum += (double)x[i] * x[i];
  sum = sumBlock(sum);
  if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// The counts are whole numbers, so the order of the additions does not matter. `count` starts at 0.
extern "C" __global__ void countNonFinite(int *count, const real *x, i64 size) {
  int bad = 0;
  for (i64 i = firstIndex(); i < size; i += indexStep()) {
    float value = widen(x[i]);
    bad += !(fabsf(value) < infinity);
  }
  bad = __reduce_add_sync(~0u, bad);
  if (threadIdx.x % 32 == 0 && bad > 0) atomicAdd(count, bad);
}
