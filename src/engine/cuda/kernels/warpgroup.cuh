// Hopper's tensor-core steps: four warps together multiply a 64-row A, from registers or shared memory, by a B in shared memory.
// A matrix lies in panels of 64 columns: 64 rows of 128 bytes, the 16-byte pieces of a row swapped by its number (the 128-byte swizzle).
// Sums leave in the layout of mma.sync: a warp has 16 rows; lane l has rows l / 4 and l / 4 + 8, columns 2 (l % 4) + {0, 1} of every 8.
constexpr int panelElements = 64 * 64, panelBytes = 2 * panelElements, groupBytes = 1024;

__device__ __forceinline__ u64 describePanels(const bf16 *start) {
  u64 address = sharedAddress(start);
  return (address & 0x3ffff) >> 4 | (u64)(panelBytes >> 4) << 16 | (u64)(groupBytes >> 4) << 32 | 1ull << 62;
}
// To be called before the first product, and whenever registers that it reads were written.
__device__ __forceinline__ void beginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending> __device__ __forceinline__ void awaitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
// Nothing that reads or writes these sums may move across: the compiler does not know when a product ends.
template <int blocks> __device__ __forceinline__ void holdSums(float (&sum)[blocks][4]) {
#pragma unroll
  for (int j = 0; j < blocks; j++)
#pragma unroll
    for (int c = 0; c < 4; c++) asm volatile("" : "+f"(sum[j][c])::"memory");
}
// What ordinary stores and copies wrote becomes visible to the products.
__device__ __forceinline__ void showShared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#define FOUR(how, s, j) how(s[j][0]), how(s[j][1]), how(s[j][2]), how(s[j][3])
#define THIRTY_TWO(how, s, j)                                                                                                       \
  FOUR(how, s, j), FOUR(how, s, j + 1), FOUR(how, s, j + 2), FOUR(how, s, j + 3), FOUR(how, s, j + 4), FOUR(how, s, j + 5), \
      FOUR(how, s, j + 6), FOUR(how, s, j + 7)
#define NAMES_32                                                                                                    \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29," \
  "%30,%31"
#define NAMES_64                                                                                                              \
  NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59," \
           "%60,%61,%62,%63"

// sum [64 × 64] (+)= a [64 × 16] · b, both in shared memory; b is [64 × 16] (transposed) or, where `columns`, [16 × 64]. The first product
// only writes: a sum that is set while another product runs would make the compiler wait for that one.
template <bool add, bool columns> __device__ __forceinline__ void multiplyShared(float (&sum)[8][4], u64 a, u64 b) {
  if constexpr (add)
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES_32 "}, %32, %33, 1, 1, 1, 0, %34;"
                 : THIRTY_TWO("+f", sum, 0)
                 : "l"(a), "l"(b), "n"((int)columns));
  else
    asm volatile("{.reg .pred p; setp.ne.b32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES_32 "}, %32, %33, p, 1, 1, 0, %34;}"
                 : THIRTY_TWO("=f", sum, 0)
                 : "l"(a), "l"(b), "n"((int)columns));
}
// sum [64 × 64 or 128] += a [64 × 16] in registers · b [16 × 64 or 128] in shared memory.
__device__ __forceinline__ void multiplyRegisters(float (&sum)[8][4], const u32 (&a)[4], u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES_32 "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
               : THIRTY_TWO("+f", sum, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
// The first product of a sum only writes.
__device__ __forceinline__ void multiplyFirst(float (&sum)[8][4], const u32 (&a)[4], u64 b) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, 0, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES_32 "}, {%32,%33,%34,%35}, %36, p, 1, 1, 1;}"
               : THIRTY_TWO("=f", sum, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void multiplyRegisters(float (&sum)[16][4], const u32 (&a)[4], u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NAMES_64 "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
               : THIRTY_TWO("+f", sum, 0), THIRTY_TWO("+f", sum, 8)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
// sum [64 × 64 or 128] += aᵀ · b with a [16 × 64] and b [16 × 64 or 128], both in shared memory.
__device__ __forceinline__ void multiplyTransposed(float (&sum)[8][4], u64 a, u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES_32 "}, %32, %33, 1, 1, 1, 1, 1;"
               : THIRTY_TWO("+f", sum, 0)
               : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiplyTransposed(float (&sum)[16][4], u64 a, u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NAMES_64 "}, %64, %65, 1, 1, 1, 1, 1;"
               : THIRTY_TWO("+f", sum, 0), THIRTY_TWO("+f", sum, 8)
               : "l"(a), "l"(b));
}
