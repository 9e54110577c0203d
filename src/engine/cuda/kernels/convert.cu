// Casts to nearest even between the float types, whole-number counters, and the optimiser: always float32 state.

// A NaN keeps its sign and becomes a quiet one, as on the host.
__device__ __forceinline__ u32 wideBits(float x) { return __float_as_uint(x); }
__device__ __forceinline__ u32 wideBits(bf16 x) { return (u32)x.bits << 16; }
__device__ __forceinline__ u32 wideBits(f16) { return 0x7fc00000u; }
__device__ __forceinline__ void putNan(float &out, u32 bits) { out = __uint_as_float(bits); }
__device__ __forceinline__ void putNan(bf16 &out, u32 bits) { out.bits = bits >> 16 | 0x40; }
__device__ __forceinline__ void putNan(f16 &out, u32 bits) { out.bits = (bits >> 16 & 0x8000) | 0x7e00; }
template <class Out, class In> __device__ __forceinline__ void cast(Out &out, In x) {
  float value = widen(x);
  if (value == value) narrow(out, value);
  else putNan(out, wideBits(x));
}

template <class Out, class In> __device__ __forceinline__ void convert(Out *out, const In *x, i64 size) {
  for (i64 i = firstIndex(); i < size; i += indexStep()) cast(out[i], x[i]);
}
// Four elements a thread: both sides are aligned and the size is a multiple of four.
template <class T> struct alignas(4 * sizeof(T)) Four {
  T at[4];
};
template <class Out, class In> __device__ __forceinline__ void convertFours(Out *out, const In *x, i64 fours) {
  for (i64 i = firstIndex(); i < fours; i += indexStep()) {
    Four<In> in = ((const Four<In> *)x)[i];
    Four<Out> result;
#pragma unroll
    for (int j = 0; j < 4; j++) cast(result.at[j], in.at[j]);
    ((Four<Out> *)out)[i] = result;
  }
}
#define CONVERT(Name, Out, In)                                                                   \
  extern "C" __global__ void Name(Out *out, const In *x, i64 size, int whole) {                  \
    if (whole) convertFours(out, x, size / 4);                                                   \
    else convert(out, x, size);                                                                  \
  }
CONVERT(f32ToBf16, bf16, float)
CONVERT(bf16ToF32, float, bf16)
CONVERT(f32ToF16, f16, float)
CONVERT(f16ToF32, float, f16)
CONVERT(f16ToBf16, bf16, f16)
CONVERT(bf16ToF16, f16, bf16)

extern "C" __global__ void advance(int *counters, const int *by, int size, int period) {
  for (i64 i = firstIndex(); i < size; i += indexStep()) counters[i] += by[i % period];
}

struct Step {
  float learningRate, beta1, beta2, epsilon, decay, firstUnbias, secondUnbias, clip;
};
__device__ __forceinline__ void stepElement(float *parameter, const float *gradient, float *m, float *v, const float *target, i64 i,
                                            const Step &step) {
  float g = gradient[i] * step.clip;
  float mean = step.beta1 * m[i] + (1.f - step.beta1) * g;
  float square = step.beta2 * v[i] + (1.f - step.beta2) * g * g;
  m[i] = mean;
  v[i] = square;
  float updated = parameter[i] - step.learningRate * (mean * step.firstUnbias / (sqrtf(square * step.secondUnbias) + step.epsilon));
  float goal = target == nullptr ? 0.f : target[i];
  parameter[i] = updated - step.learningRate * step.decay * (updated - goal);
}
__device__ __forceinline__ float clipOf(const float *squaredNorm, float maxNorm) {
  return fminf(1.f, maxNorm / (sqrtf(squaredNorm[0]) + 1e-6f));
}
extern "C" __global__ void adamw(float *parameter, const float *gradient, float *m, float *v, const float *target,
                                 const float *squaredNorm, i64 size, float learningRate, float beta1, float beta2,
                                 float epsilon, float decay, float firstUnbias, float secondUnbias, float maxNorm) {
  Step step = {learningRate, beta1, beta2, epsilon, decay, firstUnbias, secondUnbias, clipOf(squaredNorm, maxNorm)};
  for (i64 i = firstIndex(); i < size; i += indexStep()) stepElement(parameter, gradient, m, v, target, i, step);
}

// The same for several parameters (grid y).
constexpr int mostParameters = 64;
struct Parameters {
  u64 value[mostParameters], gradient[mostParameters], m[mostParameters], v[mostParameters], target[mostParameters], size[mostParameters];
};
extern "C" __global__ void adamwOf(const __grid_constant__ Parameters all, const float *squaredNorm, float learningRate, float beta1,
                                   float beta2, float epsilon, float decay, float firstUnbias, float secondUnbias, float maxNorm) {
  int own = blockIdx.y;
  Step step = {learningRate, beta1, beta2, epsilon, decay, firstUnbias, secondUnbias, clipOf(squaredNorm, maxNorm)};
  for (i64 i = firstIndex(); i < (i64)all.size[own]; i += indexStep())
    stepElement((float *)all.value[own], (const float *)all.gradient[own], (float *)all.m[own], (float *)all.v[own],
                (const float *)all.target[own], i, step);
}
