// Tensor-core steps on bf16 tiles in shared memory. A fragment holds what one lane needs of a 16 × 16 (A) or 16 × 8 (B) tile.

__device__ __forceinline__ u32 sharedAddress(const void *pointer) { return (u32)__cvta_generic_to_shared(pointer); }

// Four 8 × 8 tiles at once; each lane gives the address of one row.
__device__ __forceinline__ void loadTiles(u32 (&out)[4], const bf16 *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(sharedAddress(row)));
}
__device__ __forceinline__ void loadTilesTransposed(u32 (&out)[4], const bf16 *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(sharedAddress(row)));
}

// sum [16 × 8] += a [16 × 16] · b [16 × 8]
__device__ __forceinline__ void multiplyAdd(float (&sum)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 2^x with an error of two units in the last place, which bf16 does not see.
__device__ __forceinline__ float powerOfTwo(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

__device__ __forceinline__ u32 packPair(float low, float high) {
  u32 out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}

// 16 × 16 of a matrix stored [row][k]: rows from `row`, k from `k`. It is A, or (columns as rows) two B tiles b[0], b[2] and b[1], b[3].
template <int pitch> __device__ __forceinline__ void loadRows(u32 (&out)[4], const bf16 *tile, int row, int k) {
  int lane = threadIdx.x % 32;
  loadTiles(out, tile + (row + lane % 16) * pitch + k + lane / 16 * 8);
}
// The same of a matrix stored [k][row]: transposed as A, or B tiles of columns `column`, (out[0], out[1]) and (out[2], out[3]).
template <int pitch> __device__ __forceinline__ void loadColumnsAsB(u32 (&out)[4], const bf16 *tile, int k, int column) {
  int lane = threadIdx.x % 32;
  loadTilesTransposed(out, tile + (k + lane % 16) * pitch + column + lane / 16 * 8);
}
template <int pitch> __device__ __forceinline__ void loadColumnsAsA(u32 (&out)[4], const bf16 *tile, int k, int row) {
  int lane = threadIdx.x % 32;
  loadTilesTransposed(out, tile + (k + lane % 8 + lane / 16 * 8) * pitch + row + lane / 8 % 2 * 8);
}

// Copies 16 bytes from global to shared memory without registers; zeros where `valid` is false.
__device__ __forceinline__ void copyAsync(bf16 *to, const bf16 *from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)), "l"(from), "r"(valid ? 16 : 0));
}
__device__ __forceinline__ void commitCopies() { asm volatile("cp.async.commit_group;"); }
template <int pending> __device__ __forceinline__ void awaitCopies() { asm volatile("cp.async.wait_group %0;" ::"n"(pending)); }
