// Joined in front of every kernel file. One file is compiled once per float type: `real` is float, or bf16 with -DREAL_BF16.
// No header of the toolkit is needed, so the compiler library alone is enough. Sums are float32; nothing is reordered by atomics.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
__device__ __forceinline__ float widen(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ __forceinline__ void narrow(float &out, float x) { out = x; }
__device__ __forceinline__ void narrow(bf16 &out, float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x)); }
__device__ __forceinline__ void narrow(f16 &out, float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x)); }

#ifdef REAL_BF16
typedef bf16 real;
#else
typedef float real;
#endif

// Number of elements that one 16-byte access moves.
constexpr int packed = 16 / sizeof(real);
struct alignas(16) Pack {
  real at[packed];
};

#define infinity __int_as_float(0x7f800000)

// A kernel that was started early reads and writes nothing before this. It lets the next one start early in turn.
__device__ __forceinline__ void awaitBefore() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ i64 firstIndex() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ i64 indexStep() { return (i64)gridDim.x * blockDim.x; }

__device__ __forceinline__ float sumWarp(float x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}
__device__ __forceinline__ float maxWarp(float x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
  return x;
}
__device__ __forceinline__ double sumWarp(double x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

// Every thread gets the sum over the block, added in the same order each time. At most 32 warps.
template <class T> __device__ __forceinline__ T sumBlock(T x) {
  __shared__ T parts[32];
  x = sumWarp(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  T total = 0;
  for (int warp = 0; warp < (blockDim.x + 31) / 32; warp++) total += parts[warp];
  return total;
}
__device__ __forceinline__ float maxBlock(float x) {
  __shared__ float parts[32];
  x = maxWarp(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  float most = -infinity;
  for (int warp = 0; warp < (blockDim.x + 31) / 32; warp++) most = fmaxf(most, parts[warp]);
  return most;
}
