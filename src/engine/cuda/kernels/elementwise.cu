// Elementwise kernels: one pass, 16 bytes per access where `whole` says that every operand is aligned and full.

template <class F> __device__ __forceinline__ void map(real *out, const real *x, i64 size, int whole, F f) {
  i64 done = whole ? size / packed * packed : 0;
  for (i64 i = firstIndex(); i < done / packed; i += indexStep()) {
    Pack in = ((const Pack *)x)[i], result;
#pragma unroll
    for (int j = 0; j < packed; j++) narrow(result.at[j], f(widen(in.at[j])));
    ((Pack *)out)[i] = result;
  }
  for (i64 i = done + firstIndex(); i < size; i += indexStep()) narrow(out[i], f(widen(x[i])));
}

template <class F> __device__ __forceinline__ void mapTwo(real *out, const real *a, const real *b, i64 size, int whole, F f) {
  i64 done = whole ? size / packed * packed : 0;
  for (i64 i = firstIndex(); i < done / packed; i += indexStep()) {
    Pack left = ((const Pack *)a)[i], right = ((const Pack *)b)[i], result;
#pragma unroll
    for (int j = 0; j < packed; j++) narrow(result.at[j], f(widen(left.at[j]), widen(right.at[j])));
    ((Pack *)out)[i] = result;
  }
  for (i64 i = done + firstIndex(); i < size; i += indexStep()) narrow(out[i], f(widen(a[i]), widen(b[i])));
}

extern "C" __global__ void affine(real *out, const real *x, i64 size, int whole, float scale, float shift) {
  map(out, x, size, whole, [=](float v) { return scale * v + shift; });
}
extern "C" __global__ void clampTo(real *out, const real *x, i64 size, int whole, float low, float high) {
  map(out, x, size, whole, [=](float v) { return v != v ? v : fminf(fmaxf(v, low), high); });
}
extern "C" __global__ void inside(real *out, const real *x, i64 size, int whole, float low, float high) {
  map(out, x, size, whole, [=](float v) { return v >= low && v <= high ? 1.f : 0.f; });
}
extern "C" __global__ void unaryExp(real *out, const real *x, i64 size, int whole) {
  map(out, x, size, whole, [](float v) { return expf(v); });
}
extern "C" __global__ void unaryLog(real *out, const real *x, i64 size, int whole) {
  map(out, x, size, whole, [](float v) { return logf(v); });
}
extern "C" __global__ void unarySqrt(real *out, const real *x, i64 size, int whole) {
  map(out, x, size, whole, [](float v) { return sqrtf(v); });
}
extern "C" __global__ void unaryReciprocal(real *out, const real *x, i64 size, int whole) {
  map(out, x, size, whole, [](float v) { return 1.f / v; });
}
extern "C" __global__ void unaryTanh(real *out, const real *x, i64 size, int whole) {
  map(out, x, size, whole, [](float v) { return tanhf(v); });
}
extern "C" __global__ void unarySquare(real *out, const real *x, i64 size, int whole) {
  map(out, x, size, whole, [](float v) { return v * v; });
}

// The minimum and maximum are those of Math.min and Math.max: a NaN on either side stays.
__device__ __forceinline__ float combine(int kind, float a, float b) {
  switch (kind) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return a != a ? a : b != b ? b : fminf(a, b);
    case 5: return a != a ? a : b != b ? b : fmaxf(a, b);
    default: return a <= b ? 1.f : 0.f;
  }
}
// b repeats: element i meets b[i mod period]; the period equals the size where it does not repeat.
extern "C" __global__ void binary(real *out, const real *a, const real *b, i64 size, int whole, int kind, i64 period) {
  if (period == size) mapTwo(out, a, b, size, whole, [=](float x, float y) { return combine(kind, x, y); });
  else
    for (i64 i = firstIndex(); i < size; i += indexStep())
      narrow(out[i], combine(kind, widen(a[i]), widen(b[i % period])));
}

extern "C" __global__ void swiglu(real *out, const real *gate, const real *up, i64 size, int whole) {
  mapTwo(out, gate, up, size, whole, [](float g, float u) { return g / (1.f + expf(-g)) * u; });
}
// The gradient of swiglu, and with `again` its result once more.
template <bool again>
__device__ __forceinline__ void deriveSwiglu(real *out, real *dGate, real *dUp, const real *dy, const real *gate, const real *up, i64 size,
                                             int whole) {
  auto derive = [](float d, float g, float u, real &left, real &right, real &result) {
    float sigmoid = 1.f / (1.f + expf(-g));
    narrow(left, d * u * sigmoid * (1.f + g * (1.f - sigmoid)));
    narrow(right, d * g * sigmoid);
    if (again) narrow(result, g / (1.f + expf(-g)) * u);
  };
  i64 done = whole ? size / packed * packed : 0;
  for (i64 i = firstIndex(); i < done / packed; i += indexStep()) {
    Pack d = ((const Pack *)dy)[i], g = ((const Pack *)gate)[i], u = ((const Pack *)up)[i], left, right, result;
#pragma unroll
    for (int j = 0; j < packed; j++) derive(widen(d.at[j]), widen(g.at[j]), widen(u.at[j]), left.at[j], right.at[j], result.at[j]);
    ((Pack *)dGate)[i] = left;
    ((Pack *)dUp)[i] = right;
    if (again) ((Pack *)out)[i] = result;
  }
  for (i64 i = done + firstIndex(); i < size; i += indexStep()) {
    real left, right, result;
    derive(widen(dy[i]), widen(gate[i]), widen(up[i]), left, right, result);
    dGate[i] = left;
    dUp[i] = right;
    if (again) out[i] = result;
  }
}
extern "C" __global__ void swigluBackward(real *dGate, real *dUp, const real *dy, const real *gate, const real *up, i64 size,
                                          int whole) {
  deriveSwiglu<false>(nullptr, dGate, dUp, dy, gate, up, size, whole);
}
extern "C" __global__ void swigluAgain(real *out, real *dGate, real *dUp, const real *dy, const real *gate, const real *up, i64 size,
                                       int whole) {
  deriveSwiglu<true>(out, dGate, dUp, dy, gate, up, size, whole);
}

// x [tokens, heads, size]; table [positions, size]: cos, then sin. One thread turns one pair.
extern "C" __global__ void rotary(real *out, const real *x, const int *positions, const float *table, i64 pairs, int heads,
                                  int size, float direction) {
  int half = size / 2;
  for (i64 i = firstIndex(); i < pairs; i += indexStep()) {
    int pair = i % half;
    i64 row = i / half;
    const float *angle = table + (i64)positions[row / heads] * size + pair;
    float cosine = angle[0], sine = direction * angle[half];
    i64 at = row * size + pair;
    float a = widen(x[at]), b = widen(x[at + half]);
    narrow(out[at], a * cosine - b * sine);
    narrow(out[at + half], b * cosine + a * sine);
  }
}

// The same for `packed` pairs at a time: half a head is a multiple of that many.
extern "C" __global__ void rotaryPacks(real *out, const real *x, const int *positions, const float *table, i64 packs, int heads,
                                       int size, float direction) {
  int half = size / 2, perRow = half / packed;
  for (i64 i = firstIndex(); i < packs; i += indexStep()) {
    int pair = i % perRow * packed;
    i64 row = i / perRow;
    const float *angle = table + (i64)positions[row / heads] * size + pair;
    i64 at = row * size + pair;
    Pack a = *(const Pack *)(x + at), b = *(const Pack *)(x + at + half), left, right;
#pragma unroll
    for (int j = 0; j < packed; j++) {
      float cosine = angle[j], sine = direction * angle[half + j], first = widen(a.at[j]), second = widen(b.at[j]);
      narrow(left.at[j], first * cosine - second * sine);
      narrow(right.at[j], second * cosine + first * sine);
    }
    *(Pack *)(out + at) = left;
    *(Pack *)(out + at + half) = right;
  }
}

// out [tokens, width] = ± h [tokens, columns] from `column` on, times the coefficient of its block.
extern "C" __global__ void scaleBlocks(real *out, const real *h, const float *coefficients, i64 size, int width, int columns,
                                       int rank, int column) {
  for (i64 i = firstIndex(); i < size; i += indexStep()) {
    i64 token = i / width;
    int j = column + i % width;
    float sign = j < 2 * rank ? 1.f : -1.f;
    narrow(out[i], sign * widen(h[token * columns + j]) * coefficients[2 * token + j / rank % 2]);
  }
}

// The same for `packed` columns at a time: rank, width, columns and column are multiples of that many.
extern "C" __global__ void scaleBlockPacks(real *out, const real *h, const float *coefficients, i64 packs, int width, int columns,
                                           int rank, int column) {
  int perRow = width / packed;
  for (i64 i = firstIndex(); i < packs; i += indexStep()) {
    int token = i / perRow, j = column + (int)(i % perRow) * packed;
    float scale = (j < 2 * rank ? 1.f : -1.f) * coefficients[2 * token + j / rank % 2];
    Pack in = *(const Pack *)(h + (i64)token * columns + j), result;
#pragma unroll
    for (int c = 0; c < packed; c++) narrow(result.at[c], scale * widen(in.at[c]));
    ((Pack *)out)[i] = result;
  }
}

extern "C" __global__ void gatherRows(real *out, const real *table, const int *index, i64 size, int columns) {
  for (i64 i = firstIndex(); i < size; i += indexStep()) out[i] = table[(i64)index[i / columns] * columns + i % columns];
}
extern "C" __global__ void scatterRows(real *out, const real *x, const int *index, i64 size, int columns) {
  for (i64 i = firstIndex(); i < size; i += indexStep()) out[(i64)index[i / columns] * columns + i % columns] = x[i];
}
// The same in 16-byte pieces: `columns` counts pieces.
extern "C" __global__ void gatherPacks(Pack *out, const Pack *table, const int *index, i64 size, int columns) {
  for (i64 i = firstIndex(); i < size; i += indexStep()) out[i] = table[(i64)index[i / columns] * columns + i % columns];
}
// A second pair, unless null, is moved alike.
extern "C" __global__ void scatterPacks(Pack *out, const Pack *x, Pack *secondOut, const Pack *secondX, const int *index, i64 size,
                                        int columns) {
  for (i64 i = firstIndex(); i < size; i += indexStep()) {
    i64 to = (i64)index[i / columns] * columns + i % columns;
    out[to] = x[i];
    if (secondOut != nullptr) secondOut[to] = secondX[i];
  }
}

// Columns of x [rows, columns] to up to three outputs, the second from `firstEnd` on, the third from `secondEnd` on; all in 16-byte pieces.
extern "C" __global__ void splitColumns(Pack *first, Pack *second, Pack *third, const Pack *x, i64 size, int columns, int firstEnd,
                                        int secondEnd) {
  for (i64 i = firstIndex(); i < size; i += indexStep()) {
    i64 row = i / columns;
    int column = i % columns;
    if (column < firstEnd) first[row * firstEnd + column] = x[i];
    else if (column < secondEnd) second[row * (secondEnd - firstEnd) + column - firstEnd] = x[i];
    else third[row * (columns - secondEnd) + column - secondEnd] = x[i];
  }
}

// One block per row of x. The first row that names an index adds all rows that name it, in order. The output is float32, or `real`
// where it says so.
extern "C" __global__ void scatterAddRows(void *out, const real *x, const int *index, int rows, int columns, int outIsReal) {
  int row = blockIdx.x, target = index[row];
  int earlier = 0;
  for (int other = threadIdx.x; other < row; other += blockDim.x) earlier |= index[other] == target;
  if (__syncthreads_or(earlier)) return;
  extern __shared__ int following[];
  __shared__ int count;
  int base = row;
  while (base < rows) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    int end = min(rows, base + (int)blockDim.x);
    int named = base + threadIdx.x < end && index[base + threadIdx.x] == target;
    // Positions in order: how many earlier threads of the block also matched.
    u32 ballot = __ballot_sync(~0u, named);
    __shared__ int warpCounts[32];
    if (threadIdx.x % 32 == 0) warpCounts[threadIdx.x / 32] = __popc(ballot);
    __syncthreads();
    int before = 0;
    for (int warp = 0; warp < threadIdx.x / 32; warp++) before += warpCounts[warp];
    if (named) following[before + __popc(ballot & ((1u << threadIdx.x % 32) - 1))] = base + threadIdx.x;
    if (threadIdx.x == blockDim.x - 1) count = before + __popc(ballot);
    __syncthreads();
    if (count > 0)
      for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        i64 at = (i64)target * columns + c;
        float sum = outIsReal ? widen(((real *)out)[at]) : ((float *)out)[at];
        for (int i = 0; i < count; i++) sum += widen(x[(i64)following[i] * columns + c]);
        if (outIsReal) narrow(((real *)out)[at], sum);
        else ((float *)out)[at] = sum;
      }
    __syncthreads();
    base = end;
  }
}
