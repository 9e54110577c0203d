// The memory map below the arena, in bytes. Everything here belongs to the kernels; the host reads the exported figures.

/** Address 0 stays unused, so that a forgotten pointer hits nothing of value; the compiler's data start at 1024. */
export const CONTROL: usize = 4096;
/** The arguments of the job under way: 4-byte fields in the order of the job's class. */
export const ARGUMENTS: usize = 8192;
/** Shared by all threads between two jobs: packed panels, partial sums, attention plans. */
export const SHARED_SCRATCH: usize = 65536;
export const SHARED_SCRATCH_BYTES: usize = 8 << 20;
/** Start of the private pieces, one for each thread. */
export const THREAD_SCRATCH: usize = SHARED_SCRATCH + SHARED_SCRATCH_BYTES;
export const THREAD_SCRATCH_BYTES: usize = 2 << 20;
/** The first part of a thread's scratch holds one register tile; the rest is `scratch()`. */
const TILE_BYTES: usize = 4096;

let thread: usize = 0;

export function becomeThread(index: i32): void {
  thread = index;
}

// @ts-ignore: decorator
@inline
export function tileScratch(): usize {
  return THREAD_SCRATCH + thread * THREAD_SCRATCH_BYTES;
}

// @ts-ignore: decorator
@inline
export function scratch(): usize {
  return tileScratch() + TILE_BYTES;
}
