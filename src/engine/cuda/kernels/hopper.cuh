// What the kernels of attention on Hopper share: tiles in panels (warpgroup.cuh), and where gradients of scores are stored. Compiled for -DHEAD.
constexpr int tileElements = tile * HEAD;

__device__ __forceinline__ bf16 *panels(void *memory) { return (bf16 *)(((u64)memory + groupBytes - 1) / groupBytes * groupBytes); }

// Copies rows `slot(i)` of x [·, heads, HEAD] for i from `start` to `end` to panels; zeros beyond.
template <int threads, class Slot>
__device__ __forceinline__ void fetch(bf16 *to, const bf16 *x, int heads, int head, int start, int end, Slot slot) {
  constexpr int chunks = HEAD / 8, rowsPerPass = threads / chunks;
  int chunk = threadIdx.x % chunks, first = threadIdx.x / chunks;
  const bf16 *column = x + (i64)head * HEAD + chunk * 8;
  bf16 *target = to + chunk / 8 * panelElements;
#pragma unroll
  for (int pass = 0; pass < tile / rowsPerPass; pass++) {
    int row = first + pass * rowsPerPass;
    copyAsync(target + row * 64 + (chunk ^ row) % 8 * 8, column + (i64)slot(start + row) * (heads * HEAD), start + row < end);
  }
}

template <int pending> __device__ __forceinline__ void awaitTiles() {
  awaitCopies<pending>();
  showShared();
  __syncthreads();
}

// Gradients of scores go to memory where the gradient of the queries is made of them: [heads, pairs of tiles, 64 keys, 64 queries]. A row is a
// row of a panel (warpgroup.cuh); its queries stand in the order in which threads hold them, eight after the other.
constexpr int pairElements = tile * tile;
__device__ __forceinline__ int queryAt(int place) { return place / 32 * 32 + place % 8 / 2 * 8 + place / 8 % 4 * 2 + place % 2; }
__device__ __forceinline__ void storePair(bf16 *to, const u32 (&changes)[4][4]) {
  int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
      int row = warp * 16 + lane / 4 + 8 * half, chunk = 2 * k + lane % 4;
      *(uint4 *)(to + row * 64 + (chunk ^ row) % 8 * 8) = {changes[k][half], changes[k][2 + half], changes[k + 1][half], changes[k + 1][2 + half]};
    }
}
