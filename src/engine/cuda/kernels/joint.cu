// Steps of a few rows, as in decoding: matrices `base` to which `change` is still to be added (nothing where null). Every kernel may start
// before the one before it has ended.
// base + change (nothing where null), rounded.
__device__ __forceinline__ void loadSum(float (&values)[packed], const real *base, const real *change, i64 at) {
  load(values, base + at, packed);
  if (change == nullptr) return;
  float more[packed];
  load(more, change + at, packed);
#pragma unroll
  for (int j = 0; j < packed; j++) {
    real rounded;
    narrow(rounded, values[j] + more[j]);
    values[j] = widen(rounded);
  }
}

#ifdef HELD
// base [rows, columns] becomes base + change, out its RMSNorm. A block a row; rows of whole 16-byte pieces, at most HELD a thread.
extern "C" __global__ void __launch_bounds__(256) jointNorm(real *out, real *base, const real *change, const real *weight, int columns,
                                                            float epsilon) {
  awaitBefore();
  i64 row = (i64)blockIdx.x * columns;
  float values[HELD][packed], gains[packed], squares = 0;
#pragma unroll
  for (int i = 0; i < HELD; i++) {
    int column = (threadIdx.x + 256 * i) * packed;
    if (column >= columns) continue;
    loadSum(values[i], base, change, row + column);
    if (change != nullptr) store(base + row + column, values[i], packed);
#pragma unroll
    for (int j = 0; j < packed; j++) squares += values[i][j] * values[i][j];
  }
  float r = 1.f / sqrtf(sumBlock(squares) / columns + epsilon);
#pragma unroll
  for (int i = 0; i < HELD; i++) {
    int column = (threadIdx.x + 256 * i) * packed;
    if (column >= columns) continue;
    load(gains, weight + column, packed);
#pragma unroll
    for (int j = 0; j < packed; j++) values[i][j] = values[i][j] * r * gains[j];
    store(out + row + column, values[i], packed);
  }
}
#endif

// out [rows, columns] = swiglu of the halves of base + change [rows, 2 · columns], in 16-byte pieces.
extern "C" __global__ void __launch_bounds__(256) jointSwiglu(real *out, const real *base, const real *change, i64 pieces, int columns) {
  awaitBefore();
  for (i64 i = firstIndex(); i < pieces; i += indexStep()) {
    i64 at = i * packed, row = at / columns;
    float gate[packed], up[packed];
    loadSum(gate, base, change, at + row * columns);
    loadSum(up, base, change, at + (row + 1) * columns);
#pragma unroll
    for (int j = 0; j < packed; j++) gate[j] = gate[j] / (1.f + expf(-gate[j])) * up[j];
    store(out + at, gate, packed);
  }
}

#ifdef LANES
// The new queries, keys and values of a decoding step, a head each, columns of base + change: queries and keys are normed and turned, keys
// and values go to their slots.
extern "C" __global__ void __launch_bounds__(256) jointTurn(real *out, real *keys, real *values, const real *base, const real *change,
                                                            const real *queryWeight, const real *keyWeight, const int *positions,
                                                            const float *table, const int *slots, int rows, int heads, int keyHeads,
                                                            float epsilon) {
  awaitBefore();
  constexpr int columns = LANES * packed;
  int each = heads + 2 * keyHeads;
  Turn turn = turnOf<1>(positions, table, rows, each);
  i64 token = turn.row / each, slot = slots[token], at = (i64)turn.row * columns + turn.column;
  int head = turn.row % each, keyHead = head < heads + keyHeads ? head - heads : head - heads - keyHeads;
  bool isQuery = head < heads, isValue = head >= heads + keyHeads;
  float held[packed], turned[packed], gains[packed];
  loadSum(held, base, change, at);
  load(gains, (isQuery ? queryWeight : keyWeight) + turn.column, packed);
#pragma unroll
  for (int j = 0; j < packed; j++) turned[j] = held[j];
  // Lanes of values take part too: sums go through whole warps.
  normAndTurn(turned, gains, turn, epsilon);
  if (!turn.valid) return;
  if (isQuery) store(out + (token * heads + head) * columns + turn.column, turned, packed);
  else if (isValue) store(values + (slot * keyHeads + keyHead) * columns + turn.column, held, packed);
  else store(keys + (slot * keyHeads + keyHead) * columns + turn.column, turned, packed);
}
#endif
