// What kernels that look at whole rows share. A row belongs to `lanes` neighbouring threads of a warp (a power of two, for short rows), or,
// where `lanes` is 0, to a block.
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

__device__ __forceinline__ void loadFloats(float (&values)[packed], const float *from) {
#pragma unroll
  for (int j = 0; j < packed; j += 4) {
    float4 four = *(const float4 *)(from + j);
    values[j] = four.x, values[j + 1] = four.y, values[j + 2] = four.z, values[j + 3] = four.w;
  }
}

#ifdef LANES
// RMSNorm of every head, then its rotation: x [tokens, heads, columns]. LANES threads hold `packed` columns each of a row, so that the
// other half of a pair is LANES / 2 away. They take ROWS neighbouring heads of a token one after the other, read beforehand.
#ifndef ROWS
#define ROWS 1
#endif
struct Turn {
  int row, column;
  bool valid, second;
  float cosines[packed], sines[packed];
};
template <int each> __device__ __forceinline__ Turn turnOf(const int *positions, const float *table, int rows, int heads) {
  constexpr int columns = LANES * packed, half = columns / 2;
  Turn turn;
  turn.row = (blockIdx.x * (256 / LANES) + threadIdx.x / LANES) * each;
  turn.valid = turn.row < rows;
  if (!turn.valid) turn.row = rows - each;  // The lane still takes part in the sums of its warp.
  turn.column = threadIdx.x % LANES * packed;
  turn.second = turn.column >= half;
  const float *angle = table + (i64)positions[turn.row / heads] * columns + (turn.second ? turn.column - half : turn.column);
  loadFloats(turn.cosines, angle);
  loadFloats(turn.sines, angle + half);
  return turn;
}
__device__ __forceinline__ float sumLanes(float x) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}
// Values become their norm, turned; returns 1 / rms.
__device__ __forceinline__ float normAndTurn(float (&values)[packed], const float (&gains)[packed], const Turn &turn, float epsilon) {
  float squares = 0;
#pragma unroll
  for (int j = 0; j < packed; j++) squares += values[j] * values[j];
  float r = 1.f / sqrtf(sumLanes(squares) / (LANES * packed) + epsilon);
#pragma unroll
  for (int j = 0; j < packed; j++) {
    real rounded;
    narrow(rounded, values[j] * r * gains[j]);
    float own = widen(rounded), other = __shfl_xor_sync(~0u, own, LANES / 2);
    values[j] = own * turn.cosines[j] + (turn.second ? other : -other) * turn.sines[j];
  }
  return r;
}
#endif
